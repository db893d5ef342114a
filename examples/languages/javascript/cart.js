const prices = { apple: 0.4, bread: 2.1, milk: 1.2 };

function total(cart) {
  return cart.reduce((sum, item) => sum + prices[item.name] * item.count, 0);
}

const cart = [
  { name: "apple", count: 5 },
  { name: "bread", count: 1 },
];

console.log(`To pay: ${total(cart).toFixed(2)}`);

module.exports = { prices, total };

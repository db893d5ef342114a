document.addEventListener("DOMContentLoaded", () => {
  const list = document.querySelector("#messages");
  const form = document.querySelector("form");

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = form.elements.text.value;
    if (text === "") {
      return;
    }
    const reply = await fetch("/classify", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ text: text }),
    });
    const item = document.createElement("li");
    item.textContent = (await reply.json()).decision;
    list.appendChild(item);
  });
});

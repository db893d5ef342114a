//! A stack that remembers its largest item.

pub struct Stack<T> {
    items: Vec<(T, T)>,
}

impl<T: Copy + Ord> Stack<T> {
    pub fn new() -> Self {
        Stack { items: Vec::new() }
    }

    pub fn push(&mut self, item: T) {
        let largest = self.items.last().map_or(item, |&(_, m)| m.max(item));
        self.items.push((item, largest));
    }

    pub fn pop(&mut self) -> Option<T> {
        self.items.pop().map(|(item, _)| item)
    }

    pub fn largest(&self) -> Option<&T> {
        self.items.last().map(|(_, m)| m)
    }
}

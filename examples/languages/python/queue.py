class Queue:
    """First in, first out."""

    def __init__(self, items=()):
        self._front = []
        self._back = list(items)

    def push(self, item):
        self._back.append(item)

    def pop(self):
        if not self._front:
            self._front = self._back[::-1]
            self._back = []
        return self._front.pop()

    def __len__(self):
        return len(self._front) + len(self._back)

class Timer {
  constructor(seconds, done) {
    this.left = seconds;
    this.done = done;
  }

  start() {
    this.id = setInterval(() => this.tick(), 1000);
    return this;
  }

  tick() {
    this.left -= 1;
    if (this.left <= 0) {
      clearInterval(this.id);
      this.done();
    }
  }
}

new Timer(3, () => console.log("ready")).start();

"use strict";

function byDate(a, b) {
  return new Date(a.date) - new Date(b.date);
}

function group(events) {
  const days = {};
  for (const event of events.slice().sort(byDate)) {
    const day = event.date.substring(0, 10);
    if (!days[day]) {
      days[day] = [];
    }
    days[day].push(event);
  }
  return Object.keys(days).map((day) => ({ day: day, events: days[day] }));
}

export default group;

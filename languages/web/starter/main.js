import { tides } from "./tides.js";

const range = document.querySelector("#range");
const list = document.querySelector("#tides");

function show() {
  const items = tides(range.value / 100).map(({ hour, height }) => {
    const item = document.createElement("li");
    item.style.setProperty("--height", height);
    item.textContent = `${hour}:00, ${height} m`;
    return item;
  });
  list.replaceChildren(...items);
}

range.addEventListener("input", show);
show();
console.log(`${list.children.length} tides a day`);

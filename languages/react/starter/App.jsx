import { useState } from "react";
import { Walk } from "./Walk.jsx";
import "./style.css";

const WALKS = ["Along the beach", "Through the dunes", "To the lighthouse"];

export default function App() {
  const [walks, setWalks] = useState(WALKS.map((name) => ({ name, done: false })));
  const [name, setName] = useState("");
  const left = walks.filter((walk) => !walk.done).length;

  function add(event) {
    event.preventDefault();
    if (!name.trim()) return;
    setWalks([...walks, { name: name.trim(), done: false }]);
    setName("");
  }

  function toggle(index) {
    setWalks(walks.map((walk, i) => (i === index ? { ...walk, done: !walk.done } : walk)));
  }

  return (
    <main>
      <h1>Walks: {left} to go</h1>
      <ul>
        {walks.map((walk, index) => (
          <Walk key={index} {...walk} onToggle={() => toggle(index)} />
        ))}
      </ul>
      <form onSubmit={add}>
        <input value={name} onChange={(event) => setName(event.target.value)} placeholder="Another walk" />
        <button>Add</button>
      </form>
    </main>
  );
}

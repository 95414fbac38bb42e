/** One walk, which a click marks as done. */
export function Walk({ name, done, onToggle }) {
  return (
    <li className={done ? "done" : ""}>
      <label>
        <input type="checkbox" checked={done} onChange={onToggle} /> {name}
      </label>
    </li>
  );
}

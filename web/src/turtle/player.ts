// Plays the recording of a drawing on a canvas. At its end, and to whoever wants
// less motion, it shows the picture itself, which has all of the drawing.

import { element } from "../dom";
import { t } from "../messages";
import { Picture } from "./picture";
import type { Recording } from "./recording";

const SPEEDS = ["0.5", "1", "2", "5", "20"] as const;
/** After a pause of the browser the drawing goes on where it was. */
const MAX_STEP_MS = 100;
/** Of the canvas, in pixels: browsers refuse larger ones. */
const MAX_AREA = 16_000_000;

export class Player {
  readonly element: HTMLElement;
  private readonly recording: Recording;
  private readonly picture: Picture;
  private readonly image: HTMLElement;
  private readonly canvas = element("canvas", { role: "img" });
  private readonly play = element("button", { type: "button", class: "tool play" });
  private readonly speed = element("select", { "aria-label": t("files.speed") });
  private scale = 0;
  private positionMs = 0;
  private lastMs: number | null = null;
  private isPlaying = false;

  /** `image` shows the end. */
  constructor(recording: Recording, alt: string, image: HTMLElement) {
    this.recording = recording;
    this.image = image;
    this.picture = new Picture(recording);
    const { width, height, durationMs } = recording;
    this.canvas.style.setProperty("width", `${width}px`);
    this.canvas.style.setProperty("aspect-ratio", `${width} / ${height}`);
    this.canvas.setAttribute("aria-label", alt);
    for (const speed of SPEEDS) this.speed.append(element("option", { value: speed, selected: speed === "1" }, `${speed} ×`));
    this.play.addEventListener("click", () => (this.isPlaying ? this.pause() : this.start()));
    const controls = element("div", { class: "player-bar" }, this.play, this.speed);
    this.element = element("div", { class: "player" }, this.canvas, image, controls);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.show(durationMs);
    else this.start();
    this.label();
  }

  private start(): void {
    if (this.positionMs >= this.recording.durationMs) this.show(0);
    this.isPlaying = true;
    this.lastMs = null;
    this.label();
    requestAnimationFrame((nowMs) => this.step(nowMs));
  }

  private pause(): void {
    this.isPlaying = false;
    this.label();
  }

  private step(nowMs: number): void {
    // Another run has removed it.
    const isGone = this.lastMs !== null && !this.canvas.isConnected;
    if (!this.isPlaying || isGone) return;
    const passedMs = Math.min(nowMs - (this.lastMs ?? nowMs), MAX_STEP_MS);
    this.lastMs = nowMs;
    this.show(Math.min(this.positionMs + passedMs * Number(this.speed.value), this.recording.durationMs));
    if (this.positionMs >= this.recording.durationMs) return this.pause();
    requestAnimationFrame((next) => this.step(next));
  }

  private show(ms: number): void {
    this.positionMs = ms;
    const context = this.canvas.getContext("2d");
    const isChanged = this.picture.go(ms);
    const isEmpty = this.fit();
    if (context !== null && (isChanged || isEmpty || ms === 0)) this.picture.draw(context, this.scale);
  }

  /** Gives the canvas a pixel for each of the screen, since thin lines break if it is scaled down. Returns whether that has emptied it. */
  private fit(): boolean {
    const { width, height } = this.recording;
    // Before it is in the page it has no width.
    const shown = this.canvas.clientWidth || width;
    const scale = Math.min((shown / width) * Math.max(devicePixelRatio, 1), Math.sqrt(MAX_AREA / (width * height)));
    if (scale === this.scale) return false;
    this.scale = scale;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    return true;
  }

  private label(): void {
    const isOver = this.positionMs >= this.recording.durationMs;
    this.canvas.hidden = isOver && !this.isPlaying;
    this.image.hidden = !this.canvas.hidden;
    this.play.textContent = t(this.isPlaying ? "files.pause" : isOver ? "files.play-again" : "files.play");
  }
}

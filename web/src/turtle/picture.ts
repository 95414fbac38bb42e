// Draws a recording as it stands at a time.

import type { Item, Recording, Segment } from "./recording";

/** As in the SVG that the recording comes with. */
const LINE_HEIGHT = 1.2;

export class Picture {
  private readonly recording: Recording;
  private readonly items = new Map<number, Item>();
  private background = "#ffffff";
  private view = { x: 0, y: 0 };
  private next = 0;
  private nowMs = 0;

  constructor(recording: Recording) {
    this.recording = recording;
  }

  /** Goes to this time. Returns whether the picture is another then. */
  go(ms: number): boolean {
    const { segments } = this.recording;
    let isChanged = false;
    if (ms < this.nowMs) {
      this.items.clear();
      this.background = "#ffffff";
      this.next = 0;
      isChanged = true;
    }
    this.nowMs = ms;
    for (let segment = segments[this.next]; segment !== undefined && segment.ms <= ms; segment = segments[this.next]) {
      this.apply(segment);
      this.next += 1;
      isChanged = true;
    }
    return isChanged;
  }

  /** Draws it, at `scale` pixels of the canvas for one of the window. */
  draw(context: CanvasRenderingContext2D, scale: number): void {
    const { width, height } = this.recording;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = this.background;
    context.fillRect(0, 0, width, height);
    context.translate(-this.view.x, -this.view.y);
    context.lineCap = "round";
    context.lineJoin = "round";
    for (const item of [...this.items.values()].sort((a, b) => a.layer - b.layer)) drawItem(context, item);
  }

  private apply(segment: Segment): void {
    switch (segment.kind) {
      case "view":
        this.view = { x: segment.x, y: segment.y };
        break;
      case "background":
        this.background = segment.color;
        break;
      case "item":
        // A copy of the points: they may be extended.
        this.items.set(segment.id, "points" in segment.item ? { ...segment.item, points: [...segment.item.points] } : segment.item);
        break;
      case "extend": {
        const item = this.items.get(segment.id);
        if (item?.kind === "line") for (const value of segment.points) item.points.push(value);
        break;
      }
      case "remove":
        this.items.delete(segment.id);
    }
  }
}

function drawItem(context: CanvasRenderingContext2D, item: Item): void {
  switch (item.kind) {
    case "line":
      trace(context, item.points);
      stroke(context, item.color, item.width);
      break;
    case "dot":
      context.beginPath();
      context.arc(item.x, item.y, item.diameter / 2, 0, 2 * Math.PI);
      context.fillStyle = item.color;
      context.fill();
      break;
    case "polygon":
      trace(context, item.points);
      context.closePath();
      context.fillStyle = item.fill;
      if (item.fill !== "") context.fill("evenodd");
      stroke(context, item.outline, item.width);
      break;
    case "text": {
      context.font = item.font;
      context.fillStyle = item.color;
      context.textAlign = item.align;
      const size = Number.parseInt(/(\d+)px/.exec(item.font)?.[1] ?? "", 10);
      const lines = item.text.split("\n");
      lines.forEach((line, index) => {
        context.fillText(line, item.x, item.y - (lines.length - 1 - index) * size * LINE_HEIGHT);
      });
    }
  }
}

function trace(context: CanvasRenderingContext2D, points: readonly number[]): void {
  context.beginPath();
  for (let index = 0; index + 1 < points.length; index += 2) context.lineTo(points[index] ?? 0, points[index + 1] ?? 0);
}

/** A canvas ignores a width of 0, and keeps the one before. */
function stroke(context: CanvasRenderingContext2D, color: string, width: number): void {
  if (color === "" || width === 0) return;
  context.strokeStyle = color;
  context.lineWidth = width;
  context.stroke();
}

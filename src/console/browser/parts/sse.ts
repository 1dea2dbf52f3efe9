/** Reads server-sent events out of a stream of text (HTML Standard, section 9.2), as its pieces arrive. */

export interface SentEvent {
  readonly id: string;
  readonly data: string;
}

/** Takes pieces of text and returns the events that they complete. */
export class EventReader {
  #rest = "";
  #id = "";

  /** Returns the events that end in this piece. */
  push(piece: string): SentEvent[] {
    const blocks = (this.#rest + piece).replaceAll("\r\n", "\n").split("\n\n");
    this.#rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => {
      const data: string[] = [];
      for (const line of block.split("\n")) {
        const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
        if (name === "data") data.push(value);
        if (name === "id") this.#id = value;
      }
      return data.length === 0 ? [] : [{ id: this.#id, data: data.join("\n") }];
    });
  }
}

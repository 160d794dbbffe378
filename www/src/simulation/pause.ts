// A worker that computes for long lets its thread read messages now and then.
const pause = new MessageChannel();
let resume: () => void = () => undefined;
pause.port1.onmessage = () => { resume(); };

/** Resolves after a time, or when it is cut short. */
export class Wait {
  #end: () => void = () => undefined;

  for(ms: number): Promise<void> {
    return new Promise((done) => {
      const timer = setTimeout(done, ms);
      this.#end = () => {
        clearTimeout(timer);
        done();
      };
    });
  }

  cut(): void {
    this.#end();
  }
}

/** Lets the thread read its messages. A message of our own is behind them in line; a timer would wait 4 ms. */
export function readMessages(): Promise<void> {
  return new Promise((done) => {
    resume = done;
    pause.port2.postMessage(null);
  });
}

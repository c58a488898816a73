// The console of a component: what is logged goes to the standard error.

export {};

declare global {
  interface Console {
    debug(...values: unknown[]): void;
    error(...values: unknown[]): void;
    info(...values: unknown[]): void;
    log(...values: unknown[]): void;
    warn(...values: unknown[]): void;
  }
  var console: Console;
}

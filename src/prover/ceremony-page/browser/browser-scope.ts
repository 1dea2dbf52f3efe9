/** The parts of a browser that the page uses. The DOM's own types would hold for the server's code as well. */

export interface PageElement {
  textContent: string;
  value: string;
  hidden: boolean;
  disabled: boolean;
  addEventListener(type: string, listener: (event: { preventDefault(): void }) => void): void;
}

export interface BrowserWorker {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onerror: ((event: { readonly message?: string }) => void) | null;
  postMessage(message: unknown): void;
  terminate(): void;
}

/** A wallet in the browser (EIP-1193). */
export interface BrowserWallet {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
}

interface BrowserScope {
  readonly document: { querySelector(selector: string): PageElement | null };
  readonly location: { readonly href: string; readonly hash: string };
  readonly sessionStorage: {
    getItem(name: string): string | null;
    setItem(name: string, value: string): void;
    removeItem(name: string): void;
  };
  readonly navigator: { readonly hardwareConcurrency?: number };
  readonly crossOriginIsolated: boolean;
  readonly ethereum?: BrowserWallet;
  readonly Worker: new (url: string | URL, options?: { readonly type: "module" }) => BrowserWorker;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(message: unknown): void;
}

export const browser = globalThis as unknown as BrowserScope;

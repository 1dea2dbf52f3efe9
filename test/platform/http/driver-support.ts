/** Apps of both HTTP drivers without the front above them. */
import type { HandleRequest, HttpApp, HttpAppOptions, HttpDriver } from "../../../src/platform/http/drivers/driver.js";
import { nodeDriver } from "../../../src/platform/http/drivers/node.js";
import { loadUws } from "../../../src/platform/http/drivers/uws.js";

export const DRIVERS: readonly HttpDriver[] = [nodeDriver, loadUws()];

const apps: HttpApp[] = [];

/** Closes what the test has started. */
export function closeApps(): void {
  for (const app of apps.splice(0)) app.close();
}

/** Starts an app on a free port. */
export async function startApp(
  driver: HttpDriver,
  handle: HandleRequest,
  { host = "127.0.0.1", ...options }: Partial<HttpAppOptions> & { readonly host?: string } = {},
): Promise<{ app: HttpApp; port: number }> {
  const app = driver.createHttpApp({ connectionsMax: 100, keepAliveSec: 75, ...options }, handle);
  apps.push(app);
  return { app, port: (await app.listen(host, 0)).port };
}

/** Answers with the path, at once. */
export const answerPath: HandleRequest = (response, request) => {
  const url = request.getUrl();
  response.onAborted(() => undefined);
  response.cork(() => {
    response.writeStatus("200 OK");
    response.end(url);
  });
};

/** Mail by file and by SMTP (a double on this machine), and the outbox that requests do not wait for. */
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createFileMail } from "../../../src/platform/mail/file-mail.js";
import { Outbox } from "../../../src/platform/mail/outbox.js";
import { createSmtpMail } from "../../../src/platform/mail/smtp-mail.js";
import { HeldClock, quietLog } from "../auth/support.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const MESSAGE = {
  to: "ada@example.com",
  subject: "Reset your password",
  text: "first line\n.dots at the start\n  ppr_token",
};
const INJECTIONS = [
  { ...MESSAGE, to: "ada@example.com\r\nBcc: eve@example.com" },
  { ...MESSAGE, subject: "x\nBcc: eve@example.com" },
];

const servers = new Set<Server>();
afterEach(() => {
  for (const server of servers) server.close();
  servers.clear();
});

/** Says yes to everything and keeps what it was told. */
async function smtpDouble(): Promise<{ url: string; lines: string[] }> {
  const lines: string[] = [];
  const server = createServer((socket) => {
    let inData = false;
    let rest = "";
    socket.write("220 double ESMTP\r\n");
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      const parts = (rest + chunk.toString("utf8")).split("\r\n");
      rest = parts.pop() ?? "";
      for (const line of parts) {
        lines.push(line);
        if (inData) {
          if (line === ".") {
            inData = false;
            socket.write("250 queued\r\n");
          }
        } else if (line === "DATA") {
          inData = true;
          socket.write("354 go on\r\n");
        } else if (line === "QUIT") socket.end("221 bye\r\n");
        else socket.write("250 ok\r\n");
      }
    });
  });
  servers.add(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return { url: `smtp://127.0.0.1:${String((server.address() as AddressInfo).port)}`, lines };
}

describe("mail to files", () => {
  it("writes private files, and refuses injected headers", async () => {
    const folder = join(folderOfTest("mail"), "mail");
    const mail = createFileMail({ folder, from: "p@localhost" }, { clock: new HeldClock() });
    await mail.send(MESSAGE);
    const [name] = readdirSync(folder);
    expect(statSync(join(folder, name!)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, name!), "utf8")).toContain("To: ada@example.com\nSubject: Reset your password\n");
    for (const message of INJECTIONS) await expect(mail.send(message)).rejects.toThrow(/header/);
    expect(readdirSync(folder)).toHaveLength(1);
  });
});

describe("mail by SMTP", () => {
  it("hands one message to one recipient, and refuses injected headers", async () => {
    const { url, lines } = await smtpDouble();
    const mail = createSmtpMail({ url, from: "p@example.com" });
    try {
      await mail.send(MESSAGE);
      for (const message of INJECTIONS) await expect(mail.send(message)).rejects.toThrow(/header/);
      expect(lines.filter((line) => line.startsWith("RCPT TO:"))).toEqual(["RCPT TO:<ada@example.com>"]);
      expect(lines).toContain("  ppr_token");
      expect(lines).toContain("..dots at the start");
    } finally {
      mail.close();
    }
  });

  it("requires TLS of a server on another machine before it sends anything", async () => {
    const { url, lines } = await smtpDouble();
    // Not the loopback by name: the rule is about the address as it was written.
    const mail = createSmtpMail({ url: url.replace("127.0.0.1", "127.0.0.2"), from: "p@example.com" });
    try {
      await expect(mail.send(MESSAGE)).rejects.toThrow();
      expect(lines.some((line) => line.startsWith("MAIL FROM"))).toBe(false);
    } finally {
      mail.close();
    }
  });
});

describe("the outbox", () => {
  it("tries three times and then gives up, without a rejection", async () => {
    const outbox = new Outbox({ retryDelayMs: 1 }, { log: quietLog });
    let tries = 0;
    outbox.add(() => {
      tries += 1;
      return Promise.reject(new Error("not now"));
    });
    await outbox.idle();
    expect(tries).toBe(3);
  });

  it("runs two at a time, in order, and drops tasks beyond its limit and after the stop", async () => {
    const outbox = new Outbox({}, { log: quietLog });
    let running = 0;
    let most = 0;
    let done = 0;
    for (let i = 0; i < 600; i++) {
      outbox.add(async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        done += 1;
      });
    }
    await outbox.idle();
    expect([most, done]).toEqual([2, 514]);
    await outbox.stop();
    outbox.add(() => {
      done += 1;
      return Promise.resolve();
    });
    expect(done).toBe(514);
  });
});

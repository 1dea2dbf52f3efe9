/** The URL of the cluster's database: what it may say, and that its password is in no message. */
import { describe, expect, it } from "vitest";
import { databaseAddress } from "../../../src/platform/cluster/database-address.js";

describe("the URL of the cluster's database", () => {
  it("names host, port, user, password and database", () => {
    expect(databaseAddress("postgres://pw:p%40ss%2Fword@127.0.0.1:6543/proof%20wright")).toEqual({
      ...{ host: "127.0.0.1", port: 6543, user: "pw", password: "p@ss/word", database: "proof wright", ssl: false },
    });
    expect(databaseAddress("postgresql://pw@localhost/a")).toMatchObject({ port: 5432, password: undefined });
    expect(databaseAddress("postgres://pw@[::1]/a")).toMatchObject({ host: "::1", ssl: false });
  });

  it("checks the server's certificate wherever the connection leaves the machine, and where it is asked to", () => {
    for (const url of [
      "postgres://pw@db.example.com/a",
      "postgres://pw@10.0.0.7/a",
      "postgres://pw@localhost.example.com/a",
      "postgres://pw@db.example.com/a?sslmode=verify-full",
      "postgres://pw@localhost/a?sslmode=verify-full",
    ])
      expect(databaseAddress(url).ssl, url).toEqual({ rejectUnauthorized: true });
    expect(databaseAddress("postgres://pw@localhost/a?host=/run/postgresql")).toMatchObject({
      host: "/run/postgresql",
      ssl: false,
    });
  });

  it("is refused in any other form, without showing it", () => {
    for (const url of [
      "hunter2",
      "mysql://pw:hunter2@localhost/a",
      "postgres://pw:hunter2@localhost/",
      "postgres://localhost/hunter2",
      "postgres://pw:hunter2@db.example.com/a?sslmode=require",
      "postgres://pw:hunter2@db.example.com/a?sslmode=disable",
      "postgres://pw:hunter2@db.example.com/a?options=x",
      "postgres://pw:hunter2@db.example.com/a?host=db",
      "postgres://pw:hunter2@db.example.com/a?sslrootcert=/does/not/exist",
    ]) {
      let message = "";
      try {
        databaseAddress(url);
      } catch (error) {
        ({ message } = error as Error);
      }
      expect(message, url).not.toBe("");
      expect(message).not.toContain("hunter2");
    }
  });
});

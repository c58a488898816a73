// For the build: the standard error of WASI, to which the console of a component writes.

const version = "0.2.0";

/** The line that the bundle begins with. */
export const banner = `import stderr from "wasi:cli/stderr@${version}"; globalThis.stderr = stderr;`;

/** Returns a contract with what the line imports: the world `leadhost:plugin/plugin`. */
export function withStderr(contract, world) {
  return `${contract}
package wasi:io@${version} {
  interface error {
    resource error;
  }
  interface streams {
    use error.{error};
    variant stream-error { last-operation-failed(error), closed }
    resource output-stream {
      blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
    }
  }
}
package wasi:cli@${version} {
  interface stderr {
    use wasi:io/streams@${version}.{output-stream};
    get-stderr: func() -> output-stream;
  }
}
package leadhost:plugin {
  world plugin {
    include ${world};
    import wasi:cli/stderr@${version};
  }
}
`;
}

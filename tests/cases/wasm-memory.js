// case: reserving gigabytes of addresses is not using memory
// options: --memory 256M
// needs: node
// want-verdict: ok
// want-stdout: ^pages 4$
const memory = new WebAssembly.Memory({ initial: 4, maximum: 64 });
console.log("pages", memory.buffer.byteLength / 65536);

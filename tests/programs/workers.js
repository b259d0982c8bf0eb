// SPDX-License-Identifier: MIT
// Worker threads that share memory and wait for each other by Atomics.
const { Worker, isMainThread, workerData } = require("worker_threads");
if (isMainThread) {
	const sum = new Int32Array(new SharedArrayBuffer(4));
	const ended = (worker) => new Promise((resolve, reject) => worker.on("exit", resolve).on("error", reject));
	const workers = [1, 2, 3, 4].map((n) => new Worker(__filename, { workerData: { sum, n } }));
	Promise.all(workers.map(ended)).then(() => console.log("sum", sum[0]));
} else {
	for (let i = 0; i < 1000; i++) Atomics.add(workerData.sum, 0, workerData.n);
}

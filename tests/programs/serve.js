// SPDX-License-Identifier: MIT
// A web server and its client on loopback.
const http = require("http");
const server = http.createServer((request, response) => response.end("served " + request.url));
server.listen(0, "127.0.0.1", () =>
	http.get({ port: server.address().port, host: "127.0.0.1", path: "/page" }, (response) => {
		response.on("data", (data) => console.log(String(data)));
		response.on("end", () => server.close());
	}),
);

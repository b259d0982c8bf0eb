#!/bin/bash
# SPDX-License-Identifier: MIT
# --canary: which credentials are planted and where, each way out that raises an alert and those that are known not to,
# and that nothing of the person's is touched.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

kinds='.aws/credentials .config/gcloud/application_default_credentials.json .config/gh/hosts.yml .docker/config.json .env
.git-credentials .kube/config .netrc .npmrc .pypirc .ssh/id_ed25519'
alerts() { got '[a["detail"] for a in o["alerts"]]'; }
# python LEVEL CODE: with `word(FILE)`, the last word of a planted file, which has the nonce.
python() {
	run -p "$1" --canary -l python -c 'import os, re, time
def word(name): return re.findall("[A-Z2-7]{25}", open(os.path.expanduser("~/" + name)).read())[-1]
'"$2" </dev/null
}

test_planted() {
	local level=$1 first
	run -p "$level" --canary -l sh -c 'cd && find . -type f | sed s:./:: | LC_ALL=C sort' </dev/null
	is "$level: the usual kinds lie in the target's home" "$(got 'o["stdout"]' | xargs)" "$(xargs <<<"$kinds")"
	is "$level: looking for names alone is no alert" "$(alerts)" '[]'
	python "$level" 'print(word(".env"), os.path.expanduser("~"))'
	first=$(got 'o["stdout"]')
	python "$level" 'print(word(".env"), os.path.expanduser("~"))'
	unlike "$level: each run has words of its own" "$(got 'o["stdout"]')" "^${first%% *}"
	not "$level: nothing is left of them" test -e "${first##* }"
	is "$level: nothing is planted with the person" "$(find "$HOME" -maxdepth 1 -name '.[a-z]*' ! -name .local ! -name .before ! -name .ok)" ''
	run -p "$level" -l sh -c 'cd && find . -type f' </dev/null
	is "$level: without --canary there is none" "$(got 'o["stdout"]')$(alerts)" '[]'
}

test_alerts() {
	local level=$1 want code
	while IFS='|' read -r want code; do
		python "$level" "$code"
		is "$level: $want" "$(alerts)" "[\"planted $want\"]"
	done <<-'TXT'
	.aws/credentials seen in stdout|print(open(os.path.expanduser("~/.aws/credentials")).read())
	.ssh/id_ed25519 seen in stderr|os.write(2, word(".ssh/id_ed25519").encode())
	.netrc seen in stdout|w = word(".netrc"); os.write(1, w[:9].encode()); time.sleep(0.1); os.write(1, w[9:].encode())
	.kube/config seen in stdout|[(os.write(1, c.encode()), time.sleep(0.002)) for c in word(".kube/config") + "\\n"]
	.npmrc seen in an argument of execve|os.execv("/bin/true", ["true", "--token=" + word(".npmrc")])
	.pypirc seen in an argument of openat|os.path.exists("/tmp") and os.open("/tmp/" + word(".pypirc"), os.O_CREAT)
	.env seen in an argument of open|import ctypes; c = ctypes.CDLL(None); [c.syscall(2, b"/none/%d" % k, 0) for k in range(3000)]; c.syscall(2, ("/" + word(".env")).encode(), 0)
	.git-credentials seen in an argument of connect|import socket; socket.socket(socket.AF_UNIX).connect_ex("/tmp/" + word(".git-credentials"))
	TXT
	python "$level" 'import base64, subprocess
print(base64.b64encode(word(".env").encode()).decode())
os.execve("/bin/true", ["true"], {"TOKEN": word(".env")})'
	is "$level: encoded, or in a variable, it is not seen" "$(alerts)" '[]'
	run -p "$level" --canary --output left -l sh -c '
o=out; [ -d /out ] && o=/out
head -c 65485 /dev/zero >$o/a; cat ~/.netrc >>$o/a; head -c 12 /dev/zero >$o/b; tail -c 24 ~/.env >>$o/c' </dev/null
	is "$level: in a file that leaves, wherever it lies in it" "$(alerts)" '["planted .netrc seen in a file that left"]'
	rm -rf left
	belljar run --canary -v -p "$level" -l sh -c 'cat ~/.netrc' >/dev/null 2>errors </dev/null
	like "$level: -v tells" "$(errors)" 'ALERT .*planted \.netrc seen in stdout'
	run -p "$level" --canary -l sh -c 'cat ~/.netrc' </dev/null
	is "$level: the recording has it" "$(event '[e["kind"] + ": " + e["detail"] for e in of("alert")]')" \
		'["canary: planted .netrc seen in stdout"]'
}

test_own() { # what the person gives to a run stands before what would be planted there
	mkdir -p own && echo 'the person'"'"'s own' >own/credentials && chmod 755 own && chmod 666 own/credentials
	local dest
	for dest in own:/home/user/.aws own/credentials:/home/user/.aws/credentials own:/home/user; do
		run -p namespaces --canary --input "$scratch/$dest" -l sh -c 'cat ~/.aws/credentials ~/credentials; ls -A ~/.aws' </dev/null
		like "namespaces: --input $dest stays what it is" "$(got 'o["stdout"]')" "the person's own"
		is "namespaces: --input $dest: the host's file too" "$(cat own/*)" "the person's own"
	done
	run -p namespaces --canary --project own -l sh -c 'cat credentials' </dev/null
	is 'namespaces: a project with such a file is what it is' "$(got 'o["stdout"]') $(alerts)" "the person's own []"
	run -p namespaces --canary -l sh -c "ls -d '$HOME' /root/.ssh /root/.aws" </dev/null
	is "namespaces: the person's home is not there" "$(got 'o["stdout"]')" ''
}

for level in $levels; do
	[ "$level" = subprocess ] || here userns "$level" || continue
	test_planted "$level"
	test_alerts "$level"
	[ "$level" = subprocess ] || test_own
done
plan_end

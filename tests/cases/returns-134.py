# case: the number of a signal, returned as a status, is no signal
# want-verdict: failed
# want-status: 134
raise SystemExit(134)

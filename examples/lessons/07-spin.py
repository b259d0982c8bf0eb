# Uses processor time and nothing else.
print("spinning", flush=True)
while True:
    pass

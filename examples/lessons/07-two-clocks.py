# Sleeps without using any processor time at all.
import time

print("sleeping", flush=True)
time.sleep(60)
print("awake")

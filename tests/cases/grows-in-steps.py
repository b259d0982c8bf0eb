# case: the memory limit holds on hosts with mixed control groups, and on those with none
# options: --memory 256M
# want-verdict: memory
# want-stdout: ^step 64$
# never: holds
# want-peak: 150000000 450000000
hold = []
for step in range(1, 11):
    block = bytearray(64 << 20)
    for i in range(0, len(block), 4096):
        block[i] = 1
    hold.append(block)
    print("step", step * 64, flush=True)
print("holds 640 MB")

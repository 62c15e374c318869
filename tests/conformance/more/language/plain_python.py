import torch
s = 0
for i in range(1, 4):
    for j in range(i):
        s += i * j
        if s > 6:
            print("big", i, j, s)
            break
    else:
        print("row", i, "done", s)
        continue
    print("broke out of", i)
matrix = [[1, 2, 3], [4, 5, 6]]
print([list(r) for r in zip(*matrix)], [x for row in matrix for x in row if x % 2], {x: y for x, y in zip("abc", range(3))})
print(sum(map(sum, matrix)), max(max(r) for r in matrix), any(5 in r for r in matrix), all(len(r) == 3 for r in matrix))
words = "the quick brown fox jumps over the lazy dog".split()
counts = {}
for wd in words:
    counts[wd] = counts.get(wd, 0) + 1
print(sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:3], len(set(words)))
print(" ".join(w.capitalize() for w in words[:3]), "".join(reversed("abc")), "-".join(map(str, range(3))))
fib = [0, 1]
while len(fib) < 10: fib.append(fib[-1] + fib[-2])
print(fib, fib[2:8:2], fib[::-3], fib[-3:])
def gcd(a, b): return a if b == 0 else gcd(b, a % b)
print(gcd(48, 18), [n for n in range(2, 30) if all(n % d for d in range(2, int(n ** 0.5) + 1))])
x, y = 10, 3
print(x // y, x % y, x / y, x ** y, -x // y, divmod(x, y), x & y, x | y, x ^ y, x << 2, ~x, not x, x and y, x or y)
print(f"{x:>5}|{x:<5}|{x:^5}|{x:05d}|{x:+}|{x:b}|{x:x}|{x/y:.3f}|{x/y:10.2e}|{'text':*^10}|{1234567.891:,.2f}")

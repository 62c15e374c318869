import torch
x = 3.14159
n = 42
s = "hi"
t = torch.tensor([1.5, 2.5])
d = {"k": 1, "j": [1, 2]}
print(f"{x:.2f} {n:5d}|{n:<5d}|{n:^6}|{s!r} {s:>5}|{s:*^6}")
print(f"{x=} {n=} {s=} {n + 1=} {x = :.2f} {s=!s} {n=:>5}")
print(f"{t=}", f"{t.shape=}", f"{t.sum()=}")
print(f"{d['k']} {d['j'][1]} {len(s)} {s.upper()} {[i for i in range(3)]}")
print(f"{{}} {{{n}}} {'a' 'b'} {n if n > 3 else s}")
w = 8; p = 3
print(f"{x:{w}.{p}f}|{x:>{w}}|{s:{'>'}{w}}|")
print(f"{t[0]:.1f} {t.mean().item():.3f} {t.max():5.2f}")
print(f"{(lambda v: v * 2)(4)} {n:,} {1e6:,.0f} {n:#x} {n:08b} {0.5:%} {n:+}")
print(f'{"nested"} {s + "!"}', F"cap", rf"\n{n}", fr"{n}\t")
print(f"{None} {True} {True:d} {[]} {()} {1,2}")
print(f"a{n}b" "c" f"{n}" 'd')
print(f"""multi
{n}
line""")
print(f"{t.tolist()} {t.dtype} {t.device} {tuple(t.shape)}")
try:
    print(f"{t:.2f}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{t:>10}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{t.shape:>10}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{None:>5}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{[1]:>5}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{s:d}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{x:d}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{n:s}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{n:.2}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{undefined}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{torch.tensor(3):5d}|{torch.tensor(2.5):8.3f}|{torch.tensor(True)}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{torch.tensor(3.5):d}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{torch.tensor(3):.2f}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{torch.float32} {torch.float32!r:>20}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{torch.float32:>20}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{n!r:>6}|{x!s:10}|{s!a}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{'a'!r}", f"{ n }", f"{n :d}", f"{ {'a': 1}['a'] }", f"{n:{5}}", f"{-n}", f"{not n}", f"{n!=3}", f"{n==42}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{x:10.3}|{x:.0f}|{x:e}|{x:g}|{1e10:g}|{1/3:.17g}|{float('nan'):.2f}|{float('inf'):8}|{-float('inf'):f}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print(f"{1e5} {1e16} {1e-4} {1e-5} {123456789012345678.0} {0.1+0.2} {-0.0} {1.0} {100.0:g}")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))

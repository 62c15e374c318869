import torch
try:
    print("%d %i %s %r %f %.2f %e %g %x %o %c %%" % (1, 2, "a", "b", 1.5, 2.345, 12345.678, 0.00001, 255, 8, "z"))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%5d|%-5d|%05d|%+d|% d" % (1, 2, 3, 4, 5))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%5s|%-5s|%.2s" % ("a", "b", "abc"))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%s" % 1, "%s" % None, "%s" % [1, 2], "%s" % (1,), "%r" % "a")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%(a)s %(b).2f" % {"a": 1, "b": 2.0})
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%*d|%.*f" % (5, 3, 2, 1.2345))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%d" % 1.9, "%d" % True, "%i" % -3.7)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%d" % "a")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%f" % "a")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%s %s" % 1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%s" % (1, 2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%d %d" % (1,))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%q" % 1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%(a)s" % {"b": 1})
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%(a)s" % 5)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%c" % 65, "%c" % "ab")
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%x" % 1.5)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%" % 1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%s" % torch.tensor([1., 2.]))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%s and %s" % (torch.tensor(1.5), torch.ones(2)))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%d" % torch.tensor(3), "%.3f" % torch.tensor(2.5))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%f" % torch.ones(2))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%d" % torch.tensor(3.7))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%.4f %.1e" % (torch.tensor(1.23456).item(), 1e-5))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("abc" % ())
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("abc" % 1)
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("abc" % [])
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("abc" % {})
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%s" % ((1, 2),))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%10.3e|%-12g|" % (1234.5, 0.1))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%#x %#o" % (255, 8))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))
try:
    print("%r" % torch.float32, "%s" % torch.Size([1, 2]))
except Exception as e:
    print(type(e).__name__ + ': ' + str(e))

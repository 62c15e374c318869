import torch
import torch.autograd.forward_ad as fwAD
try:
    fwAD.make_dual(torch.ones(2), torch.ones(2))
except Exception as e:
    print(type(e).__name__, e)
print(fwAD.unpack_dual(torch.ones(2)))
with fwAD.dual_level():
    try:
        fwAD.make_dual(torch.ones(2), torch.ones(3))
    except Exception as e:
        print(type(e).__name__, e)
    try:
        fwAD.make_dual(torch.ones(2), torch.ones(2, dtype=torch.double))
    except Exception as e:
        print(type(e).__name__, e)
    try:
        fwAD.make_dual(torch.ones(2, dtype=torch.long), torch.ones(2))
    except Exception as e:
        print(type(e).__name__, e)
    try:
        fwAD.make_dual(torch.ones(2), torch.ones(2, dtype=torch.long))
    except Exception as e:
        print(type(e).__name__, e)
    try:
        fwAD.make_dual(1., torch.ones(2))
    except Exception as e:
        print(type(e).__name__, e)
    a = fwAD.make_dual(torch.ones(2), torch.ones(2))
    try:
        fwAD.make_dual(a, torch.ones(2))
    except Exception as e:
        print(type(e).__name__, e)
    try:
        fwAD.make_dual(torch.ones(2), a)
    except Exception as e:
        print(type(e).__name__, e)
    try:
        with fwAD.dual_level():
            pass
    except Exception as e:
        print(type(e).__name__, e)
    try:
        fwAD.enter_dual_level()
    except Exception as e:
        print(type(e).__name__, e)
try:
    fwAD.exit_dual_level()
except Exception as e:
    print(type(e).__name__, e)
fwAD.enter_dual_level()
a = fwAD.make_dual(torch.ones(2), torch.ones(2) * 5)
print((a * a))
fwAD.exit_dual_level()
print(a)
try:
    fwAD.exit_dual_level(level=3)
except Exception as e:
    print(type(e).__name__, e)

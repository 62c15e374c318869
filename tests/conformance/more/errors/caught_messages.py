import torch
try:
    torch.ones(2) @ torch.ones(3)
except RuntimeError as e:
    print(e)
    print(type(e), e.args, repr(e))
try:
    torch.ones(2).backward()
except Exception as e:
    print(type(e).__name__, e)
try:
    x = torch.tensor([1, 2], requires_grad=True)
except RuntimeError as e:
    print("Error:", e)
finally:
    print("finally")
for bad in ["a", None, [], {}, 1.5]:
    try:
        print(torch.zeros(bad))
    except TypeError as e:
        print(str(e).splitlines()[0])
try:
    try:
        torch.tensor([1., 2.]).item()
    finally:
        print("cleanup")
except (RuntimeError, ValueError) as e:
    print("E", e)
def safe(f, *a, default=None, **k):
    try:
        return f(*a, **k)
    except Exception as ex:
        print(f"{type(ex).__name__}: {ex}")
        return default
print(safe(torch.stack, [torch.ones(2), torch.ones(3)]))
print(safe(torch.cat, [], default=0))
print(safe(torch.reshape, torch.ones(4), (3, 2)))
print(safe(lambda: 1 / 0, default="inf"))
print(safe(torch.linalg.inv, torch.zeros(2, 2)))
print(safe(torch.linalg.cholesky, -torch.eye(2)))
print(isinstance(torch.linalg.LinAlgError("x"), RuntimeError), torch.linalg.LinAlgError)
raise ValueError("final error")

import torch
import torch.autograd.forward_ad as fwAD

primal = torch.tensor([[0.1, 0.2], [0.3, 0.4]])
tangent = torch.ones(2, 2)

def fn(x, y):
    return x ** 2 + y ** 2

with fwAD.dual_level():
    dual_input = fwAD.make_dual(primal, tangent)
    assert fwAD.unpack_dual(dual_input).tangent is tangent
    dual_input_alt = fwAD.make_dual(primal, tangent.T.clone())
    assert fwAD.unpack_dual(dual_input_alt).tangent is not tangent
    plain_tensor = torch.full((2, 2), 3.)
    dual_output = fn(dual_input, plain_tensor)
    jvp = fwAD.unpack_dual(dual_output).tangent
    print(dual_output)
    print(jvp)
assert fwAD.unpack_dual(dual_output).tangent is None
print(dual_output)

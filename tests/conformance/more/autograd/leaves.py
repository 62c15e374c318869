import torch
w = torch.randn(2, 2, requires_grad=True)
print(w.is_leaf, w.grad_fn)
w2 = w.cuda() if torch.cuda.is_available() else w.double()
print(w2.is_leaf)
w3 = w.float()
print(w3 is w, w3.is_leaf)
w4 = w.detach().clone().requires_grad_(True)
print(w4.is_leaf)
w5 = w.clone()
print(w5.is_leaf, w5.grad_fn)
w6 = torch.nn.Parameter(w)
print(w6.is_leaf, w6.requires_grad, type(w6).__name__)
w7 = torch.tensor([1.], requires_grad=True) * 1
print(w7.is_leaf)
w8 = torch.zeros(2).requires_grad_()
print(w8)
with torch.no_grad():
    w9 = w * 2
print(w9.is_leaf, w9.requires_grad)
print(torch.ones(2).is_leaf)
w10 = w.view(4)
print(w10.is_leaf, w10.grad_fn)
w11 = w.to(torch.float32)
print(w11 is w)
w12 = w.contiguous()
print(w12 is w)
w13 = w.T
print(w13.is_leaf)
w14 = w.data
w14.requires_grad = True
print(w14.is_leaf, w14.requires_grad, w14.grad)

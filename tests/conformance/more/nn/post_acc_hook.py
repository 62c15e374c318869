# post acc hook
import torch
x = torch.tensor([1., 2.], requires_grad=True)
h = x.register_post_accumulate_grad_hook(lambda p: print('acc', p, p.grad))
(x * 3).sum().backward()
(x * 3).sum().backward()
h.remove()
(x * 3).sum().backward()
print(x.grad)

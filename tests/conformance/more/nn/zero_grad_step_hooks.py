# zero grad step hooks
import torch
x = torch.tensor([2.0], requires_grad=True)
o = torch.optim.SGD([x], lr=0.5)
def pre(opt, args, kwargs):
    print('pre', type(opt).__name__, args, kwargs)
def post(opt, args, kwargs):
    print('post', args, kwargs)
h = o.register_step_pre_hook(pre)
o.register_step_post_hook(post)
x.sum().backward()
o.step()
h.remove()
o.step()

import torch
message = "saved tensors default hooks are disabled"
with torch.autograd.graph.disable_saved_tensors_hooks(message):
    x = torch.ones(2, requires_grad=True)
    y = x * x
    print(y)
    try:
        with torch.autograd.graph.save_on_cpu():
            pass
    except RuntimeError as e:
        print(e)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    try:
        with torch.autograd.graph.disable_saved_tensors_hooks('off'):
            pass
    except RuntimeError as e:
        print(e)
with torch.autograd.graph.disable_saved_tensors_hooks('one'):
    with torch.autograd.graph.disable_saved_tensors_hooks('two'):
        try:
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                pass
        except RuntimeError as e:
            print(e)
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
    except RuntimeError as e:
        print(e)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    print('fine')

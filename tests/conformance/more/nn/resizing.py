import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.arange(1.0, 13.0).reshape(1, 1, 3, 4).requires_grad_()

# borders
for layer in (
    nn.ZeroPad2d(1),
    nn.ConstantPad2d((1, 0, 2, -1), 9.0),
    nn.ReflectionPad2d((2, 1, 1, 2)),
    nn.ReplicationPad2d((0, 2, 1, 0)),
    nn.CircularPad2d(1),
):
    y = layer(x)
    print(layer, tuple(y.shape), y.grad_fn.name())
    print(y[0, 0, 0])
    x.grad = None
    y.sum().backward()
    print(x.grad[0, 0])

row = torch.tensor([[[1.0, 2.0, 3.0]]])
for mode in ("constant", "reflect", "replicate", "circular"):
    print(mode, F.pad(row, (2, 1), mode))

# a convolution that goes around
conv = nn.Conv1d(1, 1, 3, padding=1, padding_mode="circular", bias=False)
print(conv)
with torch.no_grad():
    conv.weight.copy_(torch.tensor([[[1.0, 10.0, 100.0]]]))
print(conv(row))

# other sizes
for mode in ("nearest", "bilinear", "bicubic", "area"):
    y = F.interpolate(x, size=(2, 6), mode=mode)
    print(mode, y.grad_fn.name(), y[0, 0, 1])
print(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)(x)[0, 0, 2])
print(nn.UpsamplingNearest2d(scale_factor=2)(x)[0, 0, :, ::2])
x.grad = None
F.interpolate(x, scale_factor=1.5, mode="bilinear").sum().backward()
print(x.grad)
print(F.interpolate(row, 5, mode="linear"), F.interpolate(row, scale_factor=2))

# channels as pixels
c = torch.arange(16.0).reshape(1, 4, 2, 2)
print(nn.PixelShuffle(2)(c))
print(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(c)).equal(c), F.channel_shuffle(c, 2)[0, :, 0, 0])
print(nn.Unflatten(1, (2, 2))(c).shape, nn.Flatten()(c).shape)

# dropout of channels
torch.manual_seed(1)
print(nn.Dropout2d(0.5)(torch.ones(2, 4, 2, 2)).sum((2, 3)))
print(nn.Dropout1d(0.25)(torch.ones(1, 6, 2))[0, :, 0])
print(nn.AlphaDropout(0.5)(torch.zeros(6)))
print(torch.rand(2))

for call in (
    lambda: F.pad(row, (3, 0), "reflect"),
    lambda: F.pad(torch.zeros(4), (1, 1), "reflect"),
    lambda: F.pad(row, (1, 1), "mirror"),
    lambda: F.pad(row, (4, 0), "circular"),
    lambda: F.interpolate(row),
    lambda: F.interpolate(row, 2, mode="bilinear"),
    lambda: F.interpolate(row, (2, 2)),
    lambda: nn.PixelShuffle(3)(c),
    lambda: nn.Dropout2d(1.5),
):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)

"""The FCN of fcn_r18_digits.py, and its weights, over sliding windows of a larger image."""

_base_ = ["./fcn_r18_digits.py"]

card = dict(what="the FCN of fcn_r18_digits, and its weights, over sliding windows of a larger image")

# 384x480 with windows of 192 every 128: neither side is a multiple of the stride plus the window, as in real use.
model = dict(test_cfg=dict(_delete_=True, mode="slide", crop_size=(192, 192), stride=(128, 128)))
preprocess = dict(size=(384, 480), resize="letterbox", interpolation="bilinear", pad_value=114)
export = dict(rewriters=["zoo.EncoderDecoder.slide_inference"])
train = dict(_delete_=True, config="fcn_r18_digits.py")  # which makes the checkpoint of both

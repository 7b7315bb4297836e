"""What a config that comes as text may name without being asked about.

Each name was chosen by hand: calling it with any arguments makes or transforms
values, and reads, writes, runs or imports nothing. Whole packages are not listed,
because a package that is harmless by and large still has its `savez` and `rmtree`.
"""

from __future__ import annotations

from collections.abc import Collection

# Packages of the training wing: what is defined in them, under public names.
OWN_PACKAGES = ("fdlkit.nn", "fdlkit.data", "fdlkit.train", "fdlkit.sharding")

_OPTAX = """
adabelief adadelta adafactor adagrad adam adamax adamaxw adamw adan
adaptive_grad_clip add_decayed_weights add_noise amsgrad apply_every apply_if_finite
centralize chain clip clip_by_block_rms clip_by_global_norm constant_schedule
cosine_decay_schedule cosine_onecycle_schedule ema exponential_decay freeze fromage
identity inject_hyperparams join_schedules keep_params_nonnegative lamb lars lbfgs
linear_onecycle_schedule linear_schedule lion lookahead masked named_chain noisy_sgd
normalize_by_update_norm novograd optimistic_adam optimistic_gradient_descent partition
piecewise_constant_schedule piecewise_interpolate_schedule polyak_sgd
polynomial_schedule radam rmsprop rprop scale scale_by_adadelta scale_by_adam
scale_by_adamax scale_by_adan scale_by_amsgrad scale_by_belief scale_by_factored_rms
scale_by_lbfgs scale_by_learning_rate scale_by_lion scale_by_novograd
scale_by_param_block_norm scale_by_param_block_rms scale_by_radam scale_by_rms
scale_by_rprop scale_by_rss scale_by_schedule scale_by_sign scale_by_sm3
scale_by_stddev scale_by_trust_ratio scale_by_yogi selective_transform set_to_zero sgd
sgdr_schedule sign_sgd signum skip_large_updates skip_not_finite sm3 trace
warmup_constant_schedule warmup_cosine_decay_schedule warmup_exponential_decay_schedule
yogi zero_nans convex_kl_divergence cosine_distance cosine_similarity ctc_loss
hinge_loss huber_loss kl_divergence l2_loss log_cosh ntxent
safe_softmax_cross_entropy sigmoid_binary_cross_entropy sigmoid_focal_loss
smooth_labels softmax_cross_entropy softmax_cross_entropy_with_integer_labels
squared_error
"""

_OPTAX_LOSSES = """
kl_divergence_with_log_targets make_fenchel_young_loss multiclass_hinge_loss
multiclass_perceptron_loss multiclass_sparsemax_loss perceptron_loss
poly_loss_cross_entropy ranking_softmax_loss sparsemax_loss triplet_margin_loss
"""

_FLAX_LINEN = """
BatchNorm Bidirectional Conv ConvLSTMCell ConvLocal ConvTranspose Dense DenseGeneral
Dropout Einsum Embed GRUCell GroupNorm InstanceNorm LSTMCell LayerNorm MGUCell
MultiHeadAttention MultiHeadDotProductAttention OptimizedLSTMCell PReLU RMSNorm RNN
SelfAttention Sequential SimpleCell SpectralNorm WeightNorm avg_pool max_pool
dot_product_attention ones_init zeros_init
"""

_JAX_NN = """
celu dot_product_attention elu gelu glu hard_sigmoid hard_silu hard_tanh identity
leaky_relu log_sigmoid log_softmax logsumexp mish one_hot relu relu6 selu sigmoid silu
soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus standardize
"""

_INITIALIZERS = """
constant delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform
lecun_normal lecun_uniform normal ones orthogonal truncated_normal uniform
variance_scaling zeros
"""

_POLICIES = """
checkpoint_dots checkpoint_dots_with_no_batch_dims everything_saveable nothing_saveable
offload_dot_with_no_batch_dims save_and_offload_only_these_names
save_any_names_but_these save_anything_except_these_names save_from_both_policies
save_only_these_names
"""

_ML_FLOATS = """
bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz
float8_e5m2 float8_e5m2fnuz
"""

_NUMBERS = """
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64
float16 float32 float64 complex64 complex128
"""

_JAX_NUMPY = """
abs cos exp log log1p max maximum mean min minimum sin sqrt square sum tanh
"""

_BUILTINS = """
abs bool bytes complex dict float frozenset int len list max min round set str sum tuple
"""


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


# Module by module, the names in it; each under the one name that `dumps` writes.
NAMES: dict[str, Collection[str]] = {
    "builtins": _words(_BUILTINS),
    "collections": _words("Counter OrderedDict defaultdict deque"),
    "datetime": _words("date datetime time timedelta timezone"),
    "decimal": _words("Decimal"),
    "fiddle.experimental.dict_config": _words("DictConfig"),
    # What a DictConfig calls; it has no public name.
    "fiddle._src.experimental.dict_config": _words("_kwargs_to_dict"),
    "flax.linen": _words(_FLAX_LINEN),
    "jax.nn": _words(_JAX_NN),
    "jax.nn.initializers": _words(_INITIALIZERS),
    "jax.numpy": _words(_ML_FLOATS, _NUMBERS, _JAX_NUMPY),
    "jax": {"P", *(f"checkpoint_policies.{name}" for name in _words(_POLICIES))},
    "jax.lax": _words("Precision"),
    "math": _words("ceil cos exp floor log log2 prod sin sqrt tanh"),
    "ml_dtypes": _words(_ML_FLOATS),
    "numpy": _words(_NUMBERS),
    "pathlib": _words("Path PurePath PurePosixPath PureWindowsPath"),
    "optax": _words(_OPTAX),
    "optax.losses": _words(_OPTAX_LOSSES),
}

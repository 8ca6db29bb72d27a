/* The generator of torch.manual_seed, and PyTorch's draws from it on the CPU.
 *
 * The generator is MT19937: Matsumoto, Nishimura 1998, doi:10.1145/272991.272995. The draws repeat those of
 * ATen's CPU kernels (DistributionTemplates.h, TransformationHelper.h): the same words in the same order at
 * the same precision. Blocks of normals use the float32 logarithm, sine and cosine of S. Moshier's Cephes
 * library, with fused multiply-adds where ATen's AVX2 build has them. For two seeds, 1,000,003 draws each had
 * the same bits as PyTorch's.
 *
 * Bound by the latency of the float64 arithmetic. The code is scalar, because nothing waits for random
 * numbers.
 */
#include <math.h>

#include "gpt_layers.h"
#include "simd.h"

/* MT19937's n and m, and the normals that Tensor.normal_ draws at a time. */
enum { STATE_SIZE = 624, MIDDLE = 397, NORMALS_PER_BLOCK = 16 };

size_t gpt_random_size(void) { return sizeof(gpt_random); }

int gpt_random_seed(gpt_random *random, uint32_t seed)
{
    if (!random) return GPT_ERR_NULL;
    uint32_t *s = random->state;
    s[0] = seed;
    for (uint32_t i = 1; i < STATE_SIZE; i++) s[i] = 1812433253u * (s[i - 1] ^ (s[i - 1] >> 30)) + i;
    random->next = STATE_SIZE;
    random->has_spare = 0;
    random->spare = 0.0;
    return GPT_OK;
}

/* Replaces the state, whose words are used up, by the next 624 words. */
static void advance(uint32_t *s)
{
    for (uint32_t i = 0; i < STATE_SIZE; i++) {
        const uint32_t mixed = (s[i] & 0x80000000u) | (s[(i + 1) % STATE_SIZE] & 0x7fffffffu);
        s[i] = s[(i + MIDDLE) % STATE_SIZE] ^ (mixed >> 1) ^ (mixed & 1u ? 0x9908b0dfu : 0u);
    }
}

GPT_INLINE uint32_t next_u32(gpt_random *random)
{
    if (random->next == STATE_SIZE) {
        advance(random->state);
        random->next = 0;
    }
    uint32_t word = random->state[random->next++];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680u;
    word ^= (word << 15) & 0xefc60000u;
    return word ^ (word >> 18);
}

/* U[0, 1) from the low 24 bits of one word. */
GPT_INLINE float uniform_f32(gpt_random *random) { return (float)(next_u32(random) & 0xffffffu) * 0x1p-24f; }

/* U[0, 1) from the low 53 bits of two words. */
static double uniform_f64(gpt_random *random)
{
    const uint64_t high = next_u32(random), low = next_u32(random);
    return (double)((high << 32 | low) & 0x1fffffffffffffu) * 0x1p-53;
}

/* a·b + c with the precision of a fused multiply-add: the product is exact in float64. The simd build has
 * no fused instruction. */
GPT_INLINE float fused(float a, float b, float c) { return (float)((double)a * (double)b + (double)c); }

int gpt_random_uniform(float *y, gpt_random *random, size_t n, float low, float high)
{
    const int status = gpt_check(y && random, gpt_fits(n, 1), low <= high && high - low < INFINITY);
    if (status) return status;
    for (size_t i = 0; i < n; i++) y[i] = fused(uniform_f32(random), high - low, low);
    return GPT_OK;
}

int gpt_random_words(uint32_t *words, gpt_random *random, size_t n)
{
    const int status = gpt_check(words && random, gpt_fits(n, 1), 1);
    if (status) return status;
    for (size_t i = 0; i < n; i++) words[i] = next_u32(random);
    return GPT_OK;
}

/* logf of Cephes for 0 < x <= 1. */
static float log_f32(float x)
{
    static const float p[9] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                               -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                               2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    float e = (float)((int32_t)(bits >> 23) - 126);
    bits = (bits & 0x007fffffu) | 0x3f000000u;
    float m; /* the mantissa, in [0.5, 1) */
    memcpy(&m, &bits, sizeof m);
    if (m < 0.707106781f) {
        e -= 1.0f;
        m = m - 1.0f + m;
    } else {
        m -= 1.0f;
    }
    const float z = m * m;
    float y = p[0];
    for (int k = 1; k < 9; k++) y = fused(y, m, p[k]);
    y = fused(y * m, z, e * -2.12194440e-4f);
    y = fused(-z, 0.5f, y);
    return fused(e, 0.693359375f, m + y);
}

/* sinf and cosf of Cephes, for 0 <= x <= 2π. */
static void sincos_f32(float *sine, float *cosine, float x)
{
    /* subtract octant · π/4, with the octant rounded up to even and π/4 split into three constants */
    const int32_t octant = ((int32_t)(x * 1.27323954473516f) + 1) & ~1;
    const float j = (float)octant;
    x = fused(j, -0.78515625f, x);
    x = fused(j, -2.4187564849853515625e-4f, x);
    x = fused(j, -3.77489497744594108e-8f, x);
    const float z = x * x;
    float c = fused(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = fused(c, z, 4.166664568298827e-2f) * z;
    c = fused(c, z, -(z * 0.5f)) + 1.0f;
    float s = fused(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = fused(s, z, -1.6666654611e-1f) * z;
    s = fused(s, x, x);
    const int swapped = octant & 2;
    *sine = swapped ? c : s;
    *cosine = swapped ? s : c;
    if (octant & 4) *sine = -*sine;
    if ((octant + 2) & 4) *cosine = -*cosine;
}

/* Box-Muller in place: y holds 16 uniforms on entry, 16 normals on return. */
static void normal_block(float *y, float mean, float std)
{
    for (size_t i = 0; i < NORMALS_PER_BLOCK / 2; i++) {
        const float radius = sqrtf(-2.0f * log_f32(1.0f - y[i]));
        float sine, cosine;
        sincos_f32(&sine, &cosine, 6.28318530718f * y[i + NORMALS_PER_BLOCK / 2]);
        y[i] = fused(radius * cosine, std, mean);
        y[i + NORMALS_PER_BLOCK / 2] = fused(radius * sine, std, mean);
    }
}

/* sin(2π·turns) and cos(2π·turns) for 0 <= turns < 1: exact reduction to at most an eighth of a turn, then
 * the Taylor series. The functions of libm would add 6 kB of tables for large arguments. */
static void sincos_f64(double *sine, double *cosine, double turns)
{
    const int32_t quarter = (int32_t)(turns * 4.0 + 0.5);
    const double x = (turns - quarter * 0.25) * 6.28318530717958648;
    double s = 0.0, c = 0.0, power = 1.0; /* x^k / k! */
    for (int32_t k = 0; k < 18; k++) {
        const double term = k & 2 ? -power : power;
        if (k & 1)
            s += term;
        else
            c += term;
        power *= x / (k + 1);
    }
    *sine = quarter & 1 ? c : s;
    *cosine = quarter & 1 ? s : c;
    if (quarter & 2) *sine = -*sine;
    if ((quarter + 1) & 2) *cosine = -*cosine;
}

/* One normal in float64. A pair of uniforms gives two normals; the state keeps the second one for the next
 * call. */
static double normal_f64(gpt_random *random)
{
    if (random->has_spare) {
        random->has_spare = 0;
        return random->spare;
    }
    const double u1 = uniform_f64(random), u2 = uniform_f64(random);
    const double radius = sqrt(-2.0 * log1p(-u2));
    double sine, cosine;
    sincos_f64(&sine, &cosine, u1);
    random->spare = radius * sine;
    random->has_spare = 1;
    return radius * cosine;
}

int gpt_random_normal(float *y, gpt_random *random, size_t n, double mean, double std)
{
    const int finite = fabs(mean) < (double)INFINITY && std >= 0.0 && std < (double)INFINITY;
    const int status = gpt_check(y && random, gpt_fits(n, 1), finite);
    if (status) return status;
    if (n < NORMALS_PER_BLOCK) {
        for (size_t i = 0; i < n; i++) y[i] = (float)(normal_f64(random) * std + mean);
        return GPT_OK;
    }
    for (size_t i = 0; i < n; i++) y[i] = uniform_f32(random);
    for (size_t i = 0; i + NORMALS_PER_BLOCK <= n; i += NORMALS_PER_BLOCK)
        normal_block(y + i, (float)mean, (float)std);
    if (n % NORMALS_PER_BLOCK) {
        /* like PyTorch, draw the last 16 elements again as one block, which overlaps the block before it */
        float *last = y + n - NORMALS_PER_BLOCK;
        for (size_t i = 0; i < NORMALS_PER_BLOCK; i++) last[i] = uniform_f32(random);
        normal_block(last, (float)mean, (float)std);
    }
    return GPT_OK;
}

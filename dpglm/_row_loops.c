/* Inner loops over coded rows; `row_loops.py` says what each gives, and does the same in numpy.

   Rows are float32, shape (p, k), each coordinate contiguous. But for `score`, whose order of additions is its
   own, a loop gives the bits of its numpy form: products and sums are those of doubles, one after the other,
   never fused. Arithmetic beyond double precision would break that, so there the file does not compile. */

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "products of doubles must be doubles"
#endif

/* The same operations in wider registers where the processor has them. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

/* Raised with every change of what a loop gives or is given, here and in `row_loops.py`. */
#define VERSION 4

/* Rows whose sums stay in the innermost cache. */
#define TILE 512

typedef double four __attribute__((vector_size(32)));
typedef float light __attribute__((vector_size(16)));
typedef int marks __attribute__((vector_size(16)));

typedef struct {
    Py_buffer view;
    Py_ssize_t outer, inner; /* shape; a vector has one outer */
    Py_ssize_t step;         /* items from one coordinate to the next, or from one number of a vector */
} Array;

/* An array of items of this kind, contiguous but for the step between coordinates, or a vector with a step between
   items if it may be spread; -1 and an exception if it is none. */
static int opened(PyObject *object, Array *array, int dimensions, char kind, int spread, int writable)
{
    int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &array->view, flags) < 0)
        return -1;
    Py_buffer *view = &array->view;
    int last = view->ndim - 1;
    int known = kind == 'c' ? strchr("BHI", view->format[0]) != NULL : view->format[0] == kind;
    if (view->ndim == dimensions && known && view->format[0] != 0 && view->format[1] == 0
        && (spread || view->shape[last] < 2 || view->strides[last] == view->itemsize)
        && view->strides[0] % view->itemsize == 0) {
        array->inner = view->shape[last];
        array->outer = last ? view->shape[0] : 1;
        array->step = view->strides[0] / view->itemsize;
        return 0;
    }
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_ValueError, "an array of another kind");
    return -1;
}

static void closed(Array *arrays, int count)
{
    while (count--)
        PyBuffer_Release(&arrays[count].view);
}

/* Opens arguments by a letter each: d, f and l are vectors of doubles, floats and places, c is one of codes; F is
   rows, D is sums. The last one is written to. */
static int arguments(PyObject *args, const char *kinds, Array *arrays)
{
    int count = (int)strlen(kinds);
    if (PyTuple_Size(args) != count) {
        PyErr_SetString(PyExc_TypeError, "another number of arguments");
        return -1;
    }
    for (int at = 0; at < count; at++) {
        char kind = kinds[at] == 'F' ? 'f' : kinds[at] == 'D' ? 'd' : kinds[at];
        int dimensions = kinds[at] == 'F' || kinds[at] == 'D' ? 2 : 1;
        if (opened(PyTuple_GetItem(args, at), &arrays[at], dimensions, kind, 0, at == count - 1) < 0) {
            closed(arrays, at);
            return -1;
        }
    }
    return count;
}

static PyObject *finished(Array *arrays, int count, int fitting)
{
    closed(arrays, count);
    if (!fitting) {
        PyErr_SetString(PyExc_ValueError, "arrays that do not fit together");
        return NULL;
    }
    Py_RETURN_NONE;
}

typedef void Loop(const double *, const float *, Py_ssize_t step, Py_ssize_t p, Py_ssize_t k, double *restrict);

/* A number of each row from one of each coordinate, or, if not `by_row`, the other way round. */
static PyObject *over_rows(PyObject *args, Loop *loop, int by_row)
{
    Array a[3];
    if (arguments(args, "dFd", a) < 0)
        return NULL;
    Py_ssize_t p = a[1].outer, k = a[1].inner;
    int fitting = a[0].inner == (by_row ? p : k) && a[2].inner == (by_row ? k : p);
    if (fitting) {
        Py_BEGIN_ALLOW_THREADS
        loop(a[0].view.buf, a[1].view.buf, a[1].step, p, k, a[2].view.buf);
        Py_END_ALLOW_THREADS
    }
    return finished(a, 3, fitting);
}

/* sums[i] = 0 + values[0] x[0][i] + values[1] x[1][i] + ..., of up to TILE rows; x[j] is rows[places[j]]. */
static inline void summed(
    const double *values, const long *places, Py_ssize_t count, const float *rows, Py_ssize_t step, Py_ssize_t size,
    double *restrict sums)
{
#define ROW(j) (rows + (places ? places[j] : (j)) * step)
    Py_ssize_t j = count & 3;
    const float *a = j > 0 ? ROW(0) : rows, *b = j > 1 ? ROW(1) : a, *c = j > 2 ? ROW(2) : a;
    double t = j > 0 ? values[0] : 0.0, u = j > 1 ? values[1] : 0.0, v = j > 2 ? values[2] : 0.0;
    if (j == 0)
        memset(sums, 0, (size_t)size * sizeof *sums);
    else if (j == 1)
        for (Py_ssize_t i = 0; i < size; i++)
            sums[i] = 0.0 + t * a[i];
    else if (j == 2)
        for (Py_ssize_t i = 0; i < size; i++)
            sums[i] = (0.0 + t * a[i]) + u * b[i];
    else
        for (Py_ssize_t i = 0; i < size; i++)
            sums[i] = ((0.0 + t * a[i]) + u * b[i]) + v * c[i];
    for (; j < count; j += 4) {
        a = ROW(j), b = ROW(j + 1), c = ROW(j + 2);
        const float *d = ROW(j + 3);
        double w = values[j + 3];
        t = values[j], u = values[j + 1], v = values[j + 2];
        for (Py_ssize_t i = 0; i < size; i++)
            sums[i] = (((sums[i] + t * a[i]) + u * b[i]) + v * c[i]) + w * d[i];
    }
#undef ROW
}

WIDE static void predictors_loop(
    const double *at, const float *rows, Py_ssize_t step, Py_ssize_t p, Py_ssize_t k, double *restrict out)
{
    for (Py_ssize_t first = 0; first < k; first += TILE)
        summed(at, NULL, p, rows + first, step, k - first < TILE ? k - first : TILE, out + first);
}

static PyObject *predictors(PyObject *self, PyObject *args)
{
    return over_rows(args, predictors_loop, 1);
}

WIDE static void squares_loop(
    const double *weights, const float *rows, Py_ssize_t step, Py_ssize_t p, Py_ssize_t k, double *restrict out)
{
    for (Py_ssize_t first = 0; first < k; first += TILE) {
        Py_ssize_t size = k - first < TILE ? k - first : TILE;
        double *restrict sums = out + first;
        for (Py_ssize_t i = 0; i < size; i++)
            sums[i] = 0.0;
        for (Py_ssize_t j = 0; j < p; j++) {
            const float *x = rows + j * step + first;
            double weight = weights[j];
            if (weight == 1.0)
                for (Py_ssize_t i = 0; i < size; i++)
                    sums[i] += (double)x[i] * (double)x[i];
            else
                for (Py_ssize_t i = 0; i < size; i++)
                    sums[i] += (double)x[i] * (double)x[i] * weight;
        }
    }
}

static PyObject *squares(PyObject *self, PyObject *args)
{
    return over_rows(args, squares_loop, 1);
}

WIDE static void product_loop(
    const double *values, const long *places, const long *ends, const float *rows, Py_ssize_t step, Py_ssize_t k,
    float *restrict out, Py_ssize_t out_step, Py_ssize_t q)
{
    double sums[TILE];
    for (Py_ssize_t first = 0; first < k; first += TILE) {
        Py_ssize_t size = k - first < TILE ? k - first : TILE;
        long start = 0;
        for (Py_ssize_t j = 0; j < q; j++) {
            summed(values + start, places + start, ends[j] - start, rows + first, step, size, sums);
            start = ends[j];
            float *restrict mapped = out + j * out_step + first;
            for (Py_ssize_t i = 0; i < size; i++)
                mapped[i] = (float)sums[i];
        }
    }
}

static PyObject *product(PyObject *self, PyObject *args)
{
    Array a[5];
    if (arguments(args, "dllFF", a) < 0)
        return NULL;
    const long *places = a[1].view.buf, *ends = a[2].view.buf;
    int fitting = a[0].inner == a[1].inner && a[2].inner == a[4].outer && a[3].inner == a[4].inner;
    long before = 0;
    for (Py_ssize_t j = 0; fitting && j < a[2].inner; before = ends[j++])
        fitting = ends[j] >= before && ends[j] <= a[0].inner;
    for (Py_ssize_t j = 0; fitting && j < a[1].inner; j++)
        fitting = places[j] >= 0 && places[j] < a[3].outer;
    if (fitting) {
        Py_BEGIN_ALLOW_THREADS
        product_loop(
            a[0].view.buf, places, ends, a[3].view.buf, a[3].step, a[3].inner, a[4].view.buf, a[4].step, a[4].outer);
        Py_END_ALLOW_THREADS
    }
    return finished(a, 5, fitting);
}

#define across(sums) ((sums[0] + sums[1]) + (sums[2] + sums[3]))

WIDE static void score_loop(
    const double *values, const float *rows, Py_ssize_t step, Py_ssize_t p, Py_ssize_t k, double *restrict out)
{
    for (Py_ssize_t j = 0; j < p; j++)
        out[j] = 0.0;
    for (Py_ssize_t first = 0; first < k; first += TILE) {
        Py_ssize_t size = k - first < TILE ? k - first : TILE, whole = size & ~(Py_ssize_t)3, j = 0;
        const double *v = values + first;
        for (; j + 4 <= p; j += 4) {
            const float *a = rows + j * step + first, *b = a + step, *c = b + step, *d = c + step;
            four s = {0.0}, t = {0.0}, u = {0.0}, w = {0.0};
            for (Py_ssize_t i = 0; i < whole; i += 4) {
                four value;
                light e, f, g, h;
                memcpy(&value, v + i, sizeof value);
                memcpy(&e, a + i, sizeof e);
                memcpy(&f, b + i, sizeof f);
                memcpy(&g, c + i, sizeof g);
                memcpy(&h, d + i, sizeof h);
                s += value * __builtin_convertvector(e, four);
                t += value * __builtin_convertvector(f, four);
                u += value * __builtin_convertvector(g, four);
                w += value * __builtin_convertvector(h, four);
            }
            out[j] += across(s);
            out[j + 1] += across(t);
            out[j + 2] += across(u);
            out[j + 3] += across(w);
        }
        for (; j < p; j++) {
            const float *a = rows + j * step + first;
            four s = {0.0};
            for (Py_ssize_t i = 0; i < whole; i += 4) {
                four value;
                light e;
                memcpy(&value, v + i, sizeof value);
                memcpy(&e, a + i, sizeof e);
                s += value * __builtin_convertvector(e, four);
            }
            out[j] += across(s);
        }
        for (Py_ssize_t i = whole; i < size; i++)
            for (j = 0; j < p; j++)
                out[j] += v[i] * rows[j * step + first + i];
    }
}

static PyObject *score(PyObject *self, PyObject *args)
{
    return over_rows(args, score_loop, 0);
}

/* Rows times values, padded with zeros to a power of 2, and halves added to halves. */
WIDE static void halved_loop(
    const double *values, const float *rows, Py_ssize_t step, Py_ssize_t p, Py_ssize_t k, Py_ssize_t width,
    double *restrict out, double *restrict terms)
{
    for (Py_ssize_t j = 0; j < p; j++) {
        const float *x = rows + j * step;
        for (Py_ssize_t i = 0; i < k; i++)
            terms[i] = x[i] * values[i];
        for (Py_ssize_t i = k; i < width; i++)
            terms[i] = 0.0;
        for (Py_ssize_t half = width / 2; half > 0; half /= 2)
            for (Py_ssize_t i = 0; i < half; i++)
                terms[i] += terms[half + i];
        out[j] = terms[0];
    }
}

static PyObject *halved(PyObject *self, PyObject *args)
{
    Array a[4];
    if (arguments(args, "dFdd", a) < 0)
        return NULL;
    Py_ssize_t width = a[2].inner;
    int fitting = a[0].inner == a[1].inner && a[1].inner <= width && a[1].outer == a[3].inner && width > 0
        && (width & (width - 1)) == 0 && !a[2].view.readonly;
    if (fitting) {
        Py_BEGIN_ALLOW_THREADS
        halved_loop(
            a[0].view.buf, a[1].view.buf, a[1].step, a[1].outer, a[1].inner, width, a[3].view.buf, a[2].view.buf);
        Py_END_ALLOW_THREADS
    }
    return finished(a, 4, fitting);
}

/* For each coordinate: finite numbers of rows that count, and of these, cut to [-1, 1] and rounded to whole steps of
   1 / grid, the sum and the sum of squares. All are whole numbers that doubles hold. */
WIDE static void steps_loop(
    const float *counts, const float *rows, Py_ssize_t step, Py_ssize_t p, Py_ssize_t k, float grid, double *out)
{
    const float nearest = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number, halves to even */
    for (Py_ssize_t j = 0; j < p; j++) {
        four present = {0.0}, sum = {0.0}, squared = {0.0};
        for (Py_ssize_t first = 0; first < k; first += 4) {
            light x = {0.0f}, count = {0.0f};
            size_t bytes = (k - first < 4 ? (size_t)(k - first) : 4) * sizeof(float);
            if (bytes == sizeof x) {
                memcpy(&x, rows + j * step + first, sizeof x);
                memcpy(&count, counts + first, sizeof count);
            } else {
                memcpy(&x, rows + j * step + first, bytes);
                memcpy(&count, counts + first, bytes);
            }
            marks finite = x - x == (light){0.0f}, low, high;
            count = (light)((marks)count & finite);
            x = (light)((marks)x & finite) * count;
            low = x < -1.0f;
            x = (light)((low & (marks)(x - x - 1.0f)) | (~low & (marks)x));
            high = x > 1.0f;
            x = (light)((high & (marks)(x - x + 1.0f)) | (~high & (marks)x));
            x = x * grid + nearest;
            x = x - nearest;
            four steps = __builtin_convertvector(x, four);
            present += __builtin_convertvector(count, four);
            sum += steps;
            squared += steps * steps;
        }
        out[3 * j] = across(present);
        out[3 * j + 1] = across(sum);
        out[3 * j + 2] = across(squared);
    }
}

static PyObject *steps(PyObject *self, PyObject *args)
{
    Array a[4];
    if (arguments(args, "fFdd", a) < 0)
        return NULL;
    int fitting = a[0].inner == a[1].inner && a[2].inner == 1 && 3 * a[1].outer == a[3].inner;
    if (fitting) {
        float grid = (float)*(const double *)a[2].view.buf;
        Py_BEGIN_ALLOW_THREADS
        steps_loop(a[0].view.buf, a[1].view.buf, a[1].step, a[1].outer, a[1].inner, grid, a[3].view.buf);
        Py_END_ALLOW_THREADS
    }
    return finished(a, 4, fitting);
}

/* Numbers cut to bounds; what is infinite is none where the third limit is not 0. */
WIDE static void bounded_loop(
    const double *limits, const double *column, Py_ssize_t step, Py_ssize_t size, double *restrict out)
{
    double low = limits[0], high = limits[1], none = limits[2] != 0.0 ? Py_HUGE_VAL : -1.0, gathered[TILE];
    if (step != 1) {
        for (Py_ssize_t i = 0; i < size; i++)
            gathered[i] = column[i * step];
        column = gathered;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        double x = column[i], length = x < 0.0 ? -x : x, cut = x < low ? low : x;
        cut = cut > high ? high : cut;
        out[i] = length == none ? x - x : cut;
    }
}

/* Columns side by side, a few rows at a time: of a table whose rows are in one piece, these stay in a cache. */
static PyObject *bounded(PyObject *self, PyObject *args)
{
    PyObject *limits, *columns, *out;
    if (!PyArg_ParseTuple(args, "OO!O", &limits, &PyTuple_Type, &columns, &out))
        return NULL;
    Py_ssize_t m = PyTuple_Size(columns);
    Array *a = PyMem_Malloc((size_t)(m + 2) * sizeof *a);
    if (a == NULL)
        return PyErr_NoMemory();
    int opens = 0, failed = opened(limits, &a[opens], 2, 'd', 0, 0);
    if (!failed)
        failed = opened(out, &a[++opens], 2, 'd', 0, 1);
    for (Py_ssize_t j = 0; !failed && j < m; j++)
        failed = opened(PyTuple_GetItem(columns, j), &a[++opens], 1, 'd', 1, 0);
    if (failed) {
        closed(a, opens);
        PyMem_Free(a);
        return NULL;
    }
    Py_ssize_t k = a[1].inner;
    int fitting = a[0].inner == 3 && a[0].outer == m && a[1].outer == m;
    for (Py_ssize_t j = 0; fitting && j < m; j++)
        fitting = a[j + 2].inner == k;
    if (fitting) {
        const double *limit = a[0].view.buf;
        double *cut = a[1].view.buf;
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t first = 0; first < k; first += TILE)
            for (Py_ssize_t j = 0; j < m; j++)
                bounded_loop(
                    limit + j * a[0].step, (const double *)a[j + 2].view.buf + first * a[j + 2].step, a[j + 2].step,
                    k - first < TILE ? k - first : TILE, cut + j * a[1].step + first);
        Py_END_ALLOW_THREADS
    }
    PyObject *answer = finished(a, opens + 1, fitting);
    PyMem_Free(a);
    return answer;
}

/* (column - shift) * scale in double precision, rounded once. */
WIDE static void affine_loop(double shift, double scale, const double *column, Py_ssize_t k, float *restrict out)
{
    for (Py_ssize_t i = 0; i < k; i++)
        out[i] = (float)((column[i] - shift) * scale);
}

static PyObject *affine(PyObject *self, PyObject *args)
{
    Array a[3];
    if (arguments(args, "ddf", a) < 0)
        return NULL;
    int fitting = a[0].inner == 2 && a[1].inner == a[2].inner;
    if (fitting) {
        const double *map = a[0].view.buf;
        Py_BEGIN_ALLOW_THREADS
        affine_loop(map[0], map[1], a[1].view.buf, a[1].inner, a[2].view.buf);
        Py_END_ALLOW_THREADS
    }
    return finished(a, 3, fitting);
}

/* sums[part][codes[i]] += values[i], row by row; a part has so many rows that the parts hold all. */
#define SCATTERED(name, code)                                                                                       \
    static int name(const double *values, const code *codes, Py_ssize_t k, Py_ssize_t part, double *sums,           \
                    Py_ssize_t step, Py_ssize_t width)                                                              \
    {                                                                                                               \
        for (Py_ssize_t first = 0; first < k; first += part, sums += step)                                          \
            for (Py_ssize_t i = first; i < k && i < first + part; i++) {                                            \
                if ((Py_ssize_t)codes[i] >= width)                                                                  \
                    return 0;                                                                                       \
                sums[codes[i]] += values[i];                                                                        \
            }                                                                                                       \
        return 1;                                                                                                   \
    }
SCATTERED(scattered_bytes, unsigned char)
SCATTERED(scattered_shorts, unsigned short)
SCATTERED(scattered_words, unsigned int)

static PyObject *scattered(PyObject *self, PyObject *args)
{
    Array a[3];
    if (arguments(args, "dcD", a) < 0)
        return NULL;
    Py_ssize_t k = a[0].inner, parts = a[2].outer, part = parts ? (k + parts - 1) / parts : 0;
    part = part < TILE ? TILE : part;
    int fitting = k == a[1].inner && parts * part >= k;
    if (fitting) {
        double *sums = a[2].view.buf;
        const void *codes = a[1].view.buf;
        Py_ssize_t size = a[1].view.itemsize, step = a[2].step, width = a[2].inner;
        Py_BEGIN_ALLOW_THREADS
        if (size == 1)
            fitting = scattered_bytes(a[0].view.buf, codes, k, part, sums, step, width);
        else if (size == 2)
            fitting = scattered_shorts(a[0].view.buf, codes, k, part, sums, step, width);
        else
            fitting = scattered_words(a[0].view.buf, codes, k, part, sums, step, width);
        Py_END_ALLOW_THREADS
    }
    return finished(a, 3, fitting);
}

/* Rows times values and a scale, cut to whole numbers, towards zero, and added up. */
WIDE static void whole_terms_loop(
    const double *values, const float *rows, Py_ssize_t step, Py_ssize_t p, Py_ssize_t k, double scale, double *out)
{
    double terms[TILE];
    for (Py_ssize_t j = 0; j < p; j++)
        out[j] = 0.0;
    for (Py_ssize_t first = 0; first < k; first += TILE) {
        Py_ssize_t size = k - first < TILE ? k - first : TILE, whole = size & ~(Py_ssize_t)3;
        for (Py_ssize_t j = 0; j < p; j++) {
            const float *x = rows + j * step + first;
            for (Py_ssize_t i = 0; i < size; i++)
                terms[i] = __builtin_trunc(x[i] * values[first + i] * scale);
            four sums = {0.0};
            for (Py_ssize_t i = 0; i < whole; i += 4) {
                four term;
                memcpy(&term, terms + i, sizeof term);
                sums += term;
            }
            double sum = across(sums);
            for (Py_ssize_t i = whole; i < size; i++)
                sum += terms[i];
            out[j] += sum;
        }
    }
}

static PyObject *whole_terms(PyObject *self, PyObject *args)
{
    Array a[4];
    if (arguments(args, "dFdd", a) < 0)
        return NULL;
    int fitting = a[0].inner == a[1].inner && a[2].inner == 1 && a[1].outer == a[3].inner;
    if (fitting) {
        double scale = *(const double *)a[2].view.buf;
        Py_BEGIN_ALLOW_THREADS
        whole_terms_loop(
            a[0].view.buf, a[1].view.buf, a[1].step, a[1].outer, a[1].inner, scale, a[3].view.buf);
        Py_END_ALLOW_THREADS
    }
    return finished(a, 4, fitting);
}

static PyMethodDef methods[] = {
    {"whole_terms", whole_terms, METH_VARARGS, NULL},
    {"scattered", scattered, METH_VARARGS, NULL},
    {"bounded", bounded, METH_VARARGS, NULL},
    {"affine", affine, METH_VARARGS, NULL},
    {"predictors", predictors, METH_VARARGS, NULL},
    {"squares", squares, METH_VARARGS, NULL},
    {"product", product, METH_VARARGS, NULL},
    {"score", score, METH_VARARGS, NULL},
    {"halved", halved, METH_VARARGS, NULL},
    {"steps", steps, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_row_loops", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__row_loops(void)
{
    PyObject *made = PyModule_Create(&module);
    if (made != NULL && PyModule_AddIntConstant(made, "VERSION", VERSION) < 0)
        Py_CLEAR(made);
    return made;
}

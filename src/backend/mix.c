#include "backend/mix.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "backend/compile.h"
#include "base/alloc.h"
#include "base/clock.h"

#define LISTING_MAX    (16u << 20)
#define TIMEOUT_NS     (10 * AK_SECOND_NS)
#define WORD_BYTES     32
#define SUMS_MAX       64
#define REGISTER_BYTES 8
/* Cycles after which another FMA can add to an FMA's result. */
#define LATENCY_CPU 4.0
/* Instructions that a processor can begin in a cycle. */
#define ISSUE_CPU 4.0
#define ISSUE_GPU 1.0

/* An instruction in the listing of a disassembler. */
typedef struct instruction {
    uint64_t at, target; /* target: where a jump goes to; UINT64_MAX: no jump, or not known */
    const char *label;   /* the label that a jump goes to, if the listing names one; resolve() then
                            sets `target` */
    size_t label_length;
    size_t function;           /* number of functions that begin before it in the listing */
    unsigned kinds;            /* bit k is set if it is of ak_mix_kind k */
    int bits;                  /* its width if it computes; 0: not known */
    char sum[REGISTER_BYTES];  /* register that it adds to; "" if none */
    char sets[REGISTER_BYTES]; /* register that it writes in another way; "" if none */
} instruction;

typedef struct listing {
    instruction *list;
    size_t count, capacity;
    bool gpu;
} listing;

/* ---- words ----------------------------------------------------------------------------------- */

#define BEGINNINGS_MAX 32
/* How the mnemonics of one kind begin. A mnemonic has the kind of the first row of its table that
   matches it; kind_of finds the matrix products of GPUs by how they end. */
typedef struct beginnings {
    ak_mix_kind kind;
    const char *texts[BEGINNINGS_MAX]; /* NULL-terminated */
} beginnings;

/* These are mnemonics of x86-64 and AArch64. */
static const beginnings cpu_beginnings[] = {
    {AK_MIX_MATRIX, {"tdp", "bfmmla", "fmopa"}},
    {AK_MIX_FMA,
     {"vfm", "vfnm", "vdpbf16", "vpdp", "fmla", "fmls", "fmadd", "fmsub", "fnm", "bfdot"}},
    {AK_MIX_GATHER, {"vgather", "vpgather"}},
    {AK_MIX_SHUFFLE,
     {"vperm",       "vshuf", "vunpck", "vpunpck", "vpshuf",   "vinsert",  "vextract", "vbroadcast",
      "vpbroadcast", "vpack", "valign", "vpalign", "vmovhlps", "vmovlhps", "shuf",     "unpck",
      "punpck",      "pshuf", "zip",    "uzp",     "trn",      "tbl",      "dup"}},
    {AK_MIX_ARITHMETIC, {"vadd",   "vsub", "vmul", "vdiv",    "vmax", "vmin", "vsqrt", "vrcp",
                         "vrsqrt", "vcvt", "vrnd", "vscalef", "addp", "adds", "subp",  "mulp",
                         "muls",   "fadd", "fsub", "fmul",    "fdiv", "fmax", "fmin"}},
    {AK_MIX_LOAD, {"ld"}},
    {AK_MIX_STORE, {"st"}},
};

static const beginnings gpu_beginnings[] = {
    {AK_MIX_FMA, {"FFMA", "HFMA2", "DFMA"}},
    {AK_MIX_ARITHMETIC, {"FADD", "FMUL", "HADD2", "HMUL2", "DADD", "DMUL", "MUFU", "FMNMX"}},
    {AK_MIX_BARRIER, {"LDGDEPBAR", "BAR", "SYNCS", "DEPBAR", "WARPSYNC"}},
    {AK_MIX_LOAD, {"LDG", "LD.", "UTMALDG", "UBLKCP"}},
    {AK_MIX_SHARED, {"LDS"}},
    {AK_MIX_SPILL, {"LDL", "STL"}},
    {AK_MIX_STORE, {"UTMASTG", "STG", "STS", "ST."}},
    {AK_MIX_SHUFFLE, {"SHFL", "PRMT", "MOVM"}},
};

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static ak_mix_kind kind_of(const char *word, bool gpu)
{
    const beginnings *list = gpu ? gpu_beginnings : cpu_beginnings;
    size_t count = gpu ? AK_COUNT(gpu_beginnings) : AK_COUNT(cpu_beginnings);
    size_t base = strcspn(word, ".");
    bool matrix = gpu && base >= 3 && memcmp(word + base - 3, "MMA", 3) == 0;
    for (size_t i = 0; !matrix && i < count; i++) {
        if (ak_text_begins(word, list[i].texts)) {
            return list[i].kind;
        }
    }
    return matrix ? AK_MIX_MATRIX : AK_MIX_OTHER;
}

/* Copies the word at `text`; returns the text after the word and the blanks that follow it. */
static const char *take_word(char out[WORD_BYTES], const char *text)
{
    size_t length = strcspn(text, " \t\n;");
    size_t kept = length < WORD_BYTES ? length : WORD_BYTES - 1;
    memcpy(out, text, kept);
    out[kept] = 0;
    text += length;
    return text + strspn(text, " \t");
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Adds the kind of an x86 instruction's access to memory: load, store or spill. In objdump's order
   the last operand is the destination. A gather keeps its kind. */
static void read_memory(instruction *out, const char *word, const char *operands, size_t length)
{
    const char *open = memchr(operands, '(', length);
    if (open == NULL || begins_with(word, "lea") || begins_with(word, "nop") ||
        begins_with(word, "prefetch")) {
        return;
    }
    size_t rest = length - (size_t)(open - operands);
    const char *close = memchr(open, ')', rest);
    bool writes = close != NULL && memchr(close, ',', rest - (size_t)(close - open)) == NULL &&
                  memchr(operands, ',', (size_t)(open - operands)) != NULL &&
                  !begins_with(word, "cmp") && !begins_with(word, "test");
    bool stack = rest > 5 && memcmp(open, "(%rsp", 5) == 0;
    bool gathers = (out->kinds & (1u << AK_MIX_GATHER)) != 0;
    out->kinds |= gathers ? 0 : 1u << (stack ? AK_MIX_SPILL : writes ? AK_MIX_STORE : AK_MIX_LOAD);
    /* a broadcast from memory is a load */
    out->kinds &= strstr(word, "broadcast") != NULL ? ~(1u << AK_MIX_SHUFFLE) : ~0u;
}

static bool names(const char *operands, size_t length, const char *text)
{
    return memmem(operands, length, text, strlen(text)) != NULL;
}

/* Returns the width in bits of an instruction that computes: 32 for a scalar one of x86, 0 if not
   known. */
static int width_of(const char *word, const char *operands, size_t length)
{
    size_t end = strlen(word);
    bool arm = memchr(operands, '%', length) == NULL;
    bool scalar = !arm && end > 2 && word[end - 2] == 's'; /* ...ss, ...sd */
    return scalar                            ? 32
           : names(operands, length, "%zmm") ? 512
           : names(operands, length, "%ymm") ? 256
           : names(operands, length, "%xmm") ? 128
           : arm && operands[0] == 'v'       ? 128
                                             : 0;
}

/* Takes the register that an instruction writes, on a CPU only a vector register: the first operand
   or, in objdump's x86, the last. The letter for the width is dropped, because all widths share a
   register. */
static void take_register(char out[REGISTER_BYTES], const char *operands, size_t length, bool gpu)
{
    const char *at = operands;
    bool x86 = !gpu && memchr(operands, '%', length) != NULL;
    for (size_t i = 0; x86 && i < length; i++) {
        at = operands[i] == ',' ? operands + i + 1 : at;
    }
    if (x86) {
        at = at[0] == '%' && at[1] != 0 && strncmp(at + 2, "mm", 2) == 0 ? at + 2 : "";
    } else if (!gpu) {
        at = at[0] != 0 && strchr("vzqds", at[0]) != NULL ? at + 1 : "";
    }
    size_t n = strcspn(at, ",.{ \t\n;[(");
    if (n > 0 && n < REGISTER_BYTES) {
        memcpy(out, at, n);
    }
}

/* Notes the register that an instruction writes: in `sum` if the instruction adds to it, else in
   `sets`. On a CPU each FMA and matrix product counts as one that adds. Stores write none. */
static void read_registers(instruction *out, const char *operands, size_t length, bool gpu)
{
    char name[REGISTER_BYTES] = "";
    bool adds = (out->kinds & (1u << AK_MIX_FMA | 1u << AK_MIX_MATRIX)) != 0;
    if ((out->kinds & 1u << AK_MIX_STORE) != 0) {
        return;
    }
    take_register(name, operands, length, gpu);
    if (gpu && adds) { /* it adds if its last operand is its first: FFMA R5, R23, R21, R5 */
        const char *last = operands;
        for (size_t i = 0; i < length; i++) {
            last = operands[i] == ',' ? operands + i + 1 : last;
        }
        last += strspn(last, " \t");
        size_t n = strlen(name);
        adds = n > 0 && strncmp(last, name, n) == 0 && strcspn(last, " \t.;\n") == n;
    }
    memcpy(adds ? out->sum : out->sets, name, sizeof name);
}

/* Returns whether this is the mnemonic of a jump within a function. */
static bool is_jump(const char *word, bool gpu)
{
    bool arm = word[0] == 'b' && (word[1] == 0 || word[1] == '.');
    return gpu ? begins_with(word, "BRA")
               : word[0] == 'j' || arm || begins_with(word, "cbz") || begins_with(word, "cbnz") ||
                     begins_with(word, "tbz") || begins_with(word, "tbnz");
}

/* Reads where a jump goes to: "1100 <name+0x20>", "0x120", or "`(LABEL)". */
static void read_target(instruction *out, const char *word, const char *operands, size_t length,
                        bool gpu)
{
    const char *quote = memmem(operands, length, "`(", 2);
    const char *at = gpu ? memmem(operands, length, "0x", 2) : memchr(operands, '<', length);
    if (!is_jump(word, gpu)) {
        return;
    }
    if (quote != NULL) {
        out->label = quote + 2;
        out->label_length = strcspn(out->label, ")\n");
    } else if (at != NULL) {
        if (!gpu) {
            for (at--; at > operands && at[-1] != ' ' && at[-1] != ',' && at[-1] != '\t'; at--) {
            }
        }
        out->target = strtoull(at, NULL, 16);
    }
}

/* Reads an instruction from `text`, which follows its address. */
static void read_instruction(instruction *out, const char *text, bool gpu)
{
    char word[WORD_BYTES];
    const char *operands = take_word(word, text + strspn(text, " \t"));
    while (word[0] == '@' || strcmp(word, "bnd") == 0 || strcmp(word, "notrack") == 0 ||
           strcmp(word, "lock") == 0) {
        operands = take_word(word, operands);
    }
    size_t length = strcspn(operands, gpu ? ";\n" : "#\n");
    out->kinds = 1u << kind_of(word, gpu);
    /* a product with RZ, the zero register, only writes a constant and is no arithmetic */
    if (gpu && (out->kinds & 1u << AK_MIX_FMA) != 0 && names(operands, length, ", -RZ, RZ,")) {
        out->kinds = 1u << AK_MIX_OTHER;
    }
    if (!gpu) {
        read_memory(out, word, operands, length);
    }
    const unsigned computes = 1u << AK_MIX_FMA | 1u << AK_MIX_MATRIX | 1u << AK_MIX_ARITHMETIC;
    out->bits = !gpu && (out->kinds & computes) != 0 ? width_of(word, operands, length) : 0;
    read_registers(out, operands, length, gpu);
    read_target(out, word, operands, length, gpu);
    if (out->kinds != 1u << AK_MIX_OTHER) {
        out->kinds &= ~(1u << AK_MIX_OTHER);
    }
}

/* ---- listing --------------------------------------------------------------------------------- */

/* Reads the address of an instruction, which objdump writes before a colon, and nvdisasm and
   cuobjdump in a comment. Returns the text after it, or NULL if the line is something else. */
static const char *read_address(uint64_t *out, const char *line, bool gpu)
{
    const char *text = line + strspn(line, " \t");
    char *end = NULL;
    if (gpu && strncmp(text, "/*", 2) != 0) {
        return NULL;
    }
    text += gpu ? 2 : 0;
    *out = strtoull(text, &end, 16);
    bool fits = end != text && (gpu ? strncmp(end, "*/", 2) == 0 : *end == ':' && end[1] == '\t');
    return !fits ? NULL : end + (gpu ? 2 : 1);
}

/* A label within a function, and the address of the instruction after it. */
typedef struct label {
    const char *name;
    size_t length, function;
    uint64_t at;
} label;

static ak_status read_lines(listing *out, label **labels, size_t *label_count, const char *text)
{
    size_t function = 0, waiting = 0, label_capacity = 0;
    for (const char *line = text; line != NULL && *line != 0;) {
        size_t length = strcspn(line, "\n");
        instruction one = {.target = UINT64_MAX};
        const char *code = read_address(&one.at, line, out->gpu);
        bool local = out->gpu && line[0] == '.' && line[length - 1] == ':' && line[1] == 'L';
        if (code != NULL) {
            AK_DO(AK_GROW(out->list, &out->capacity, out->count + 1, NULL));
            read_instruction(&one, code, out->gpu);
            one.function = function;
            out->list[out->count++] = one;
            for (; waiting > 0; waiting--) {
                (*labels)[*label_count - waiting].at = one.at;
            }
        } else if (local) {
            AK_DO(AK_GROW(*labels, &label_capacity, *label_count + 1, NULL));
            (*labels)[(*label_count)++] = (label){line, length - 1, function, UINT64_MAX};
            waiting++;
        } else if (length > 1 && line[length - 1] == ':') {
            function++; /* "0000 <name>:" or ".text.name:" */
        }
        line = line[length] == 0 ? NULL : line + length + 1;
    }
    return AK_OK;
}

static void resolve(listing *l, const label *labels, size_t count)
{
    for (size_t i = 0; i < l->count; i++) {
        instruction *jump = &l->list[i];
        for (size_t k = 0; jump->label != NULL && k < count; k++) {
            if (labels[k].function == jump->function && labels[k].length == jump->label_length &&
                memcmp(labels[k].name, jump->label, jump->label_length) == 0) {
                jump->target = labels[k].at;
            }
        }
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Returns the index of the first instruction of the loop that this jump ends, or SIZE_MAX if it
   ends none. */
static size_t loop_begin(const listing *l, size_t jump)
{
    const instruction *end = &l->list[jump];
    size_t i = jump;
    if (end->target > end->at) {
        return SIZE_MAX;
    }
    while (i > 0 && l->list[i].at > end->target && l->list[i - 1].function == end->function) {
        i--;
    }
    return l->list[i].at == end->target ? i : SIZE_MAX;
}

/* Returns whether the loop never sets the register `sum` anew, so that each addition to it waits
   for the addition in the previous iteration. */
static bool is_carried(const listing *l, size_t begin, size_t end, const char *sum)
{
    bool carried = true;
    for (size_t i = begin; i <= end && carried; i++) {
        carried = strcmp(l->list[i].sets, sum) != 0;
    }
    return carried;
}

static void count_loop(ak_mix *out, const listing *l, size_t begin, size_t end)
{
    const char *sums[SUMS_MAX];
    *out = (ak_mix){.gpu = l->gpu};
    for (size_t i = begin; i <= end; i++) {
        const instruction *one = &l->list[i];
        int known = 0;
        out->all++;
        for (int kind = 0; kind < AK_MIX_KINDS; kind++) {
            out->count[kind] += (one->kinds >> kind & 1) != 0;
        }
        out->bits = one->bits > out->bits ? one->bits : out->bits;
        while (known < out->sums && strcmp(sums[known], one->sum) != 0) {
            known++;
        }
        if (one->sum[0] != 0 && known == out->sums && known < SUMS_MAX &&
            is_carried(l, begin, end, one->sum)) {
            sums[out->sums++] = one->sum;
        }
    }
}

static const struct {
    const char *text;
    double cpu, gpu;
} kinds[AK_MIX_KINDS] = {
#define X(name, text, cpu, gpu) {text, cpu, gpu},
    AK_MIX_MAP(X)
#undef X
};

static const char waiting[] = "arithmetic that waits for its few sums";

/* Estimates the cycles of an iteration and names the bottleneck: a unit, the issue of instructions,
   or the latency of additions to few accumulators. */
static double cycles_of(const char **busiest, const ak_mix *mix)
{
    static const struct {
        const char *text;
        ak_mix_kind first, last;
    } units[] = {{"arithmetic", AK_MIX_MATRIX, AK_MIX_ARITHMETIC},
                 {"loads", AK_MIX_LOAD, AK_MIX_GATHER},
                 {"stores", AK_MIX_STORE, AK_MIX_STORE},
                 {"spilled registers", AK_MIX_SPILL, AK_MIX_SPILL},
                 {"shuffles", AK_MIX_SHUFFLE, AK_MIX_SHUFFLE}};
    double most = (double)mix->all / (mix->gpu ? ISSUE_GPU : ISSUE_CPU);
    *busiest = "the number of instructions";
    for (size_t i = 0; i < AK_COUNT(units); i++) {
        double cycles = 0;
        for (int kind = (int)units[i].first; kind <= (int)units[i].last; kind++) {
            cycles += mix->count[kind] * (mix->gpu ? kinds[kind].gpu : kinds[kind].cpu);
        }
        if (cycles >= most && cycles > 0) {
            most = cycles;
            *busiest = units[i].text;
        }
    }
    double chain =
        mix->sums == 0 || mix->gpu ? 0 : mix->count[AK_MIX_FMA] * LATENCY_CPU / (double)mix->sums;
    if (chain > most) {
        most = chain;
        *busiest = waiting;
    }
    return most;
}

/* Returns how much arithmetic a loop does per estimated cycle, weighted by its width; loads and
   stores count a little, for loops without arithmetic. The main loop does most per cycle, while
   epilogues and remainder loops may be longer in the listing. Among equals the longer one wins. */
static double weight_of(const ak_mix *mix)
{
    const char *busiest;
    double work =
        mix->count[AK_MIX_FMA] * 2 + mix->count[AK_MIX_ARITHMETIC] + mix->count[AK_MIX_MATRIX] * 64;
    double moves = mix->count[AK_MIX_LOAD] + mix->count[AK_MIX_SHARED] + mix->count[AK_MIX_STORE];
    return (work * (mix->bits > 0 ? mix->bits : 128) + moves) / cycles_of(&busiest, mix) *
           (1 + 1e-4 * mix->all);
}

bool ak_mix_read(ak_mix *out, const char *text, bool gpu)
{
    listing l = {.gpu = gpu};
    AK_FREED label *labels = NULL;
    size_t label_count = 0, inner_begin = SIZE_MAX;
    double most = 0;
    bool found = false;
    if (read_lines(&l, &labels, &label_count, text) == AK_OK) {
        resolve(&l, labels, label_count);
        for (size_t i = 0; i < l.count; i++) {
            size_t begin = loop_begin(&l, i);
            ak_mix mix;
            /* Jumps are visited in their order, so a loop that begins at the last innermost loop or
               before it contains that loop. */
            if (begin == SIZE_MAX || (inner_begin != SIZE_MAX && inner_begin >= begin)) {
                continue;
            }
            inner_begin = begin;
            count_loop(&mix, &l, begin, i);
            if (weight_of(&mix) > most) {
                most = weight_of(&mix);
                *out = mix;
                found = true;
            }
        }
    }
    ak_free(l.list);
    return found;
}

/* ---- words for people ------------------------------------------------------------------------ */

void ak_mix_print(ak_buf *out, const ak_mix *mix)
{
    size_t shown = 0;
    ak_buf_puts(out, "hot loop: ");
    for (int kind = 0; kind < AK_MIX_KINDS; kind++) {
        if (mix->count[kind] > 0) {
            ak_buf_print(out, "%s%d %s", shown++ == 0 ? "" : ", ", mix->count[kind],
                         kinds[kind].text);
        }
        bool wide =
            kind == AK_MIX_FMA || (kind == AK_MIX_ARITHMETIC && mix->count[AK_MIX_FMA] == 0);
        if (wide && mix->count[kind] > 0 && mix->bits > 0) {
            ak_buf_print(out, mix->bits > 32 ? " of %d bits" : ", scalar", mix->bits);
        }
    }
    const char *busiest;
    (void)cycles_of(&busiest, mix);
    ak_buf_print(out, "; busiest: %s", busiest);
    if (busiest == waiting) {
        ak_buf_print(out, " (%d)", mix->sums);
    }
}

/* ---- disassemblers --------------------------------------------------------------------------- */

/* Returns which machine a compiled file is for, such as EM_CUDA; 0 if it cannot be read or is no
   ELF file. */
static int machine_of(const char *path)
{
    Elf64_Ehdr header;
    FILE *file = fopen(path, "rbe");
    bool whole = file != NULL && fread(&header, sizeof header, 1, file) == 1;
    if (file != NULL) {
        (void)fclose(file);
    }
    return whole && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 ? header.e_machine : 0;
}

/* Runs a disassembler, which may read what is installed and this file and write nothing. */
static bool disassemble(ak_mix *out, const char *const *argv, const char *path, bool gpu)
{
    const ak_proc_spec spec = {.argv = argv, .timeout_ns = TIMEOUT_NS, .output_max = LISTING_MAX};
    AK_AT_END(ak_proc_result_clear) ak_proc_result run = {0};
    return ak_compile_run(&run, spec, path, NULL, NULL) == AK_OK && run.exit_code == 0 &&
           !run.cut && ak_mix_read(out, run.output, gpu);
}

bool ak_mix_of(ak_mix *out, const char *path)
{
    const char *const host[] = {"objdump", "-d", "--no-show-raw-insn", "-j", ".text", path, NULL};
    const char *const cuda[] = {"nvdisasm", "-c", path, NULL};
    const char *const other[] = {"cuobjdump", "-sass", path, NULL};
    char found[AK_PATH_MAX];
    int machine = machine_of(path);
    bool gpu = machine == EM_CUDA;
    const char *const *argv = !gpu ? host : ak_fs_which(found, "nvdisasm") ? cuda : other;
    bool known = gpu || machine == EM_X86_64 || machine == EM_AARCH64;
    return known && ak_fs_which(found, argv[0]) && disassemble(out, argv, path, gpu);
}

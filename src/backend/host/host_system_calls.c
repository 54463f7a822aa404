/*
 * host_system_calls.c: finds system calls in a candidate's code. In a runner they kill the process
 * (sandbox.h), but a bundle's code runs in the user's program, where nothing stops them, and code
 * can tell where it runs. No kernel that computes needs one.
 *
 * The bytes of such an instruction (0f 05 on x86) also occur by chance, in constants and in the
 * distances of jumps. So the artifact is only searched for the bytes; if they are there, what the
 * compiler gives the assembler decides (ak_host_assembly_calls): compilers write neither these
 * instructions nor bare bytes into code of their own, so where these occur, they come from the
 * source. On ARM, where instructions have four bytes each, a number among the code is refused, too:
 * a jump could lead there. On x86 a jump into the middle of an instruction is not seen.
 */
#include <stdio.h>
#include <string.h>

#include "backend/elf_file.h"
#include "backend/host/host.h"
#include "base/ascii.h"
#include "base/text.h"

static bool has_bytes(const unsigned char *code, size_t length, int machine)
{
    if (machine == EM_AARCH64) { /* svc; instructions have four bytes */
        for (size_t i = 0; i + 4 <= length; i += 4) {
            uint32_t word = 0;
            memcpy(&word, code + i, sizeof word);
            if ((word & 0xffe0001fu) == 0xd4000001u) {
                return true;
            }
        }
        return false;
    }
    for (size_t i = 0; i + 1 < length; i++) {
        const unsigned char a = code[i], b = code[i + 1];
        if ((a == 0x0f && (b == 0x05 || b == 0x34)) || (a == 0xcd && b == 0x80)) {
            return true; /* syscall, sysenter, int 0x80 */
        }
    }
    return false;
}

bool ak_host_elf_may_call(const unsigned char *file, size_t length)
{
    ak_elf f;
    Elf64_Phdr p;
    size_t segments = 0;
    if (!ak_elf_open(&f, file, length)) {
        return false;
    }
    /* The loader maps whole pages. On ARM they have up to 64 KiB, for which linkers leave room. */
    const uint64_t page = f.head.e_machine == EM_AARCH64 ? 65536 : 4096;
    for (size_t i = 0; ak_elf_segment(&p, &f, i); i++) {
        if (p.p_type != PT_LOAD || (p.p_flags & PF_X) == 0) {
            continue;
        }
        /* An instruction may begin in one segment and end in another. */
        if (++segments > 1 || !ak_elf_inside(p.p_offset, p.p_filesz, length)) {
            return true;
        }
        const uint64_t begin = p.p_offset / page * page;
        const uint64_t end = (p.p_offset + p.p_filesz + page - 1) / page * page;
        if (has_bytes(file + begin, (end < length ? end : length) - begin, f.head.e_machine)) {
            return true;
        }
    }
    return false;
}

/* ---- the compiler's assembly ------------------------------------------------------------------
 */

/* Reads assembly word by word. `executable`: the section that is being filled may hold code. */
typedef struct reader {
    const char *at;
    bool executable;
    bool odd; /* a data section was made executable; from there on all sections count as code */
} reader;

static bool is_word(char c)
{
    return ak_ascii_is_word(c) || c == '.' || c == '$' || c == '@';
}

/* Moves behind the names of files that follow: "1 "folder" "file"", which may hold any words. */
static void skip_names(reader *r)
{
    for (;;) {
        const char *quote = r->at + strspn(r->at, " \t0123456789");
        const char *end = *quote == '"' ? strpbrk(quote + 1, "\"\n\\") : NULL;
        if (end == NULL || *end != '"' || memmem(quote, (size_t)(end - quote), "*/", 2) != NULL) {
            return;
        }
        r->at = end + 1;
    }
}

/* Gives the next word of the text and moves behind it; returns false at the end. */
static bool next_word(reader *r, const char **word, size_t *length)
{
    while (*r->at != 0 && !is_word(*r->at)) {
        const bool line = r->at[0] == '\n' && r->at[1] == '#' && r->at[2] == ' ';
        r->at += line ? 3 : 1;
        if (line) { /* # 12 "file.c" 1 */
            skip_names(r);
        }
    }
    *word = r->at;
    while (is_word(*r->at)) {
        r->at++;
    }
    *length = (size_t)(r->at - *word);
    return *length > 0;
}

static bool is(const char *word, size_t length, const char *text)
{
    bool same = strlen(text) == length;
    for (size_t i = 0; same && i < length; i++) {
        same = ak_ascii_lower(word[i]) == text[i];
    }
    return same;
}

static bool one_of(const char *word, size_t length, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is(word, length, list[i])) {
            return true;
        }
    }
    return false;
}

/* Reads "NAME,"FLAGS",..." behind .section, and decides whether code may lie there. Only names that
   compilers use for data, with flags in letters without an x, say that it may not: an assembler
   keeps the flags that a section had first, and a linker puts some sections, such as
   .gnu.linkonce.t.*, into .text by their names. */
static void enter_section(reader *r)
{
    static const char *const data[] = {".rodata",   ".lrodata",
                                       ".data",     ".ldata",
                                       ".bss",      ".lbss",
                                       ".tdata",    ".tbss",
                                       ".note",     ".comment",
                                       ".debug",    ".init_array",
                                       ".llvm",     ".gnu.build.attributes",
                                       ".eh_frame", ".gcc_except_table",
                                       NULL};
    const size_t line = strcspn(r->at, "\n;");
    const char *name = r->at + strspn(r->at, " \t\""), *end = r->at + line;
    const char *flags = memchr(r->at, ',', line);
    const bool known = ak_text_begins(name, data);
    bool code = false;
    if (flags != NULL) {
        flags += 1 + strspn(flags + 1, " \t");
        code = *flags != '"';
        for (flags++; flags < end && *flags != '"'; flags++) {
            code = code || *flags == 'x' || !ak_ascii_is_letter(*flags);
        }
    }
    r->executable = !known || code;
    r->odd = r->odd || (known && code);
}

/* Returns whether an alignment fills with anything but the assembler's choice and nop. */
static bool fills(const reader *r)
{
    const size_t line = strcspn(r->at, "\n;");
    const char *comma = memchr(r->at, ',', line);
    if (comma == NULL) {
        return false;
    }
    const char *fill = comma + 1 + strspn(comma + 1, " \t");
    return fill < r->at + line && *fill != ',' && strncmp(fill, "0x90", 4) != 0;
}

/* Returns whether a word that begins with '.' may put bytes into code other than by the names of
   instructions. Every word counts that is not known to be harmless. */
static bool is_bare(const reader *r, const char *word, size_t length)
{
    static const char *const aligns[] = {".align", ".balign", ".p2align"};
    static const char *const harmless[] = {
        ".",       ".loc",     ".file",           ".type",         ".size",     ".globl", ".weak",
        ".ident",  ".set",     ".att_syntax",     ".intel_syntax", ".internal", ".arch",  ".cpu",
        ".equ",    ".addrsig", ".addrsig_sym",    ".protected",    ".tune",     ".local", ".comm",
        ".hidden", ".symver",  ".arch_extension", ".global"};
    const bool label = length > 1 && word[1] == 'L' && !is(word, length, ".long");
    if (one_of(word, length, aligns, AK_COUNT(aligns))) {
        return fills(r);
    }
    return !label && strncmp(word, ".cfi_", 5) != 0 &&
           !one_of(word, length, harmless, AK_COUNT(harmless));
}

/* Enters the section that a word chooses; returns false if the word chooses none. */
static bool chooses_section(reader *r, const char *word, size_t length)
{
    static const char *const code[] = {".text", ".previous", ".popsection", ".subsection"};
    static const char *const data[] = {".data", ".bss"};
    if (one_of(word, length, code, AK_COUNT(code))) {
        r->executable = true;
    } else if (one_of(word, length, data, AK_COUNT(data))) {
        r->executable = false;
    } else if (is(word, length, ".section") || is(word, length, ".pushsection")) {
        enter_section(r);
        r->at += strcspn(r->at, "\n;");
    } else {
        return false;
    }
    return true;
}

/* Returns whether a word generates or includes text, which this reader would not see. */
static bool expands(const char *word, size_t length)
{
    static const char *const all[] = {".macro", ".rept", ".irp", ".irpc", ".include", ".altmacro"};
    return one_of(word, length, all, AK_COUNT(all));
}

/* Returns whether a word loads a number that the assembler of ARM puts behind the code: "ldr w0,
   =5". Only a register and a comma may stand between them, so that no comment hides the sign. */
static bool places_number(const reader *r, const char *word, size_t length)
{
    static const char *const loads[] = {"ldr", "ldrsw"};
    const char *p = r->at + strspn(r->at, " \t");
    if (!one_of(word, length, loads, AK_COUNT(loads))) {
        return false;
    }
    while (is_word(*p)) {
        p++;
    }
    p += strspn(p, " \t");
    p += *p == ',' ? 1 + strspn(p + 1, " \t") : 0;
    return *p != '[' && !is_word(*p);
}

bool ak_host_assembly_calls(char *why, size_t bytes, const char *assembly, bool arm)
{
    static const char *const x86[] = {"syscall", "sysenter", "int"}, *const svc[] = {"svc"};
    const char *const *calls = arm ? svc : x86;
    const size_t count = arm ? AK_COUNT(svc) : AK_COUNT(x86);
    reader r = {.at = assembly, .executable = true};
    const char *word;
    size_t length;
    while (next_word(&r, &word, &length)) {
        if (chooses_section(&r, word, length)) {
            continue;
        }
        const bool code = r.executable || r.odd;
        if (code && one_of(word, length, calls, count)) {
            (void)snprintf(why, bytes,
                           "its code makes system calls (%.*s): a kernel computes and does nothing "
                           "else",
                           (int)length, word);
            return true;
        }
        if (code && arm && places_number(&r, word, length)) {
            (void)snprintf(why, bytes,
                           "its code has the bytes of a system call, and \"%.*s ..., =\" in its "
                           "assembly may have put them there, as a number behind the code: load "
                           "numbers by mov and movk, or from a table",
                           (int)length, word);
            return true;
        }
        if (word[0] == '.' && (expands(word, length) || (code && is_bare(&r, word, length)))) {
            (void)snprintf(
                why, bytes,
                "its code has the bytes of a system call, and %.*s in its assembly may "
                "have put them there: write instructions by their names, and keep numbers out "
                "of the code",
                (int)(length < 24 ? length : 24), word);
            return true;
        }
        if (is(word, length, ".file") || is(word, length, ".ident")) {
            skip_names(&r);
        }
    }
    return false;
}

bool ak_host_assembly_reads(bool *unknown, const char *assembly)
{
    static const char *const reading[] = {".incbin", ".include"};
    static const char *const macros[] = {".macro", ".irp", ".irpc", ".altmacro"};
    reader r = {.at = assembly};
    const char *word;
    size_t length;
    bool reads = false;
    *unknown = false;
    while (!reads && next_word(&r, &word, &length)) {
        reads = one_of(word, length, reading, AK_COUNT(reading));
        *unknown = *unknown || one_of(word, length, macros, AK_COUNT(macros));
    }
    return reads;
}

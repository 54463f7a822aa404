/*
 * host_forget.h: clears what the processor and errno could keep for a candidate between two calls.
 *
 * A kernel has no memory of its own, but a call could leave a number where nobody else looks: in
 * the registers that a caller saves, in the flags of floating-point exceptions, in x87 or tile
 * registers, in the address of the last x87 instruction, in the selectors of segments and the base
 * of the unused one, in the rights of memory keys or in errno. By it, the next call would know that
 * it is not the first, and could leave out its work. So each thread sets all of this back before a
 * call.
 */
#ifndef AK_BACKEND_HOST_FORGET_H
#define AK_BACKEND_HOST_FORGET_H

/* Finds out once what the processor has, and notes the rights of memory keys. Call this before any
   candidate is loaded. `tiles`: whether the tile registers may be used. */
void ak_host_forget_prepare(int tiles);
/* Sets this thread's state to that of a call that follows no other. General registers are the
   caller's business (host_runner.c). */
void ak_host_forget(void);
/* Overwrites the stack below its caller, where functions that have returned may have left what a
   kernel must not know. */
void ak_host_forget_stack(void);

#endif

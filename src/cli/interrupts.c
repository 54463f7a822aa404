/* interrupts.c: catches Ctrl-C, SIGTERM and SIGHUP; see task_args.h. */

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"

volatile int ak_interrupted;

/* Handles SIGINT, SIGTERM and SIGHUP. The program `timeout` and supervisors signal the child and
   then its process group, so signals within a second of the first are ignored. Later, a Ctrl-C ends
   the process at once, and the other signals are still ignored. */
static void interrupt(int number)
{
    static volatile int64_t first_ns;
    int64_t now = ak_clock_ns();
    if (ak_interrupted == 0) {
        first_ns = now;
        ak_interrupted = 1;
    } else if (number == SIGINT && now - first_ns > AK_SECOND_NS) {
        _exit(130); /* 128 + SIGINT, as shells report it */
    }
}

void ak_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    /* SIGHUP says that the terminal is gone. Under nohup it is ignored and stays so. */
    struct sigaction now;
    if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
        (void)sigaction(SIGHUP, &action, NULL);
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile: enters the kernel, and in a PV guest Xen, in every way that user mode has, with a stack
 * pointer that is anything but a stack's. One thread for each vCPU attacks; one changes the values
 * that they load, while they load them; one makes and unmakes the page tables of some of them.
 *
 * Usage: hostile [BASE...]   hexadecimal: where Xen's stacks of 32 KiB begin, to aim at as well
 */
#define _GNU_SOURCE
#include "common.h"
#include "hostile.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

enum {
	PORT = 0x3e8, /* a serial port that no lab guest has */
	MAX_THREADS = 16,
	TURNS = 500,
	USER_CS = 0x33, /* Linux's user selectors, in a PV guest too */
	USER_SS = 0x2b,
	TRAP_FLAG = 0x100,
};

/* The assembly knows the first three members' places. */
struct attacker {
	uint64_t rsp;            /* its own, in the meantime */
	_Atomic uint64_t target; /* what RSP is set to */
	uint64_t turns;
	uint64_t random;
	bool under_way;
};

static struct attacker attackers[MAX_THREADS];
static int nr_attackers;
static struct hostile_aim aim = {.area = 0x10000000, .text = 0x400000};
static __thread struct attacker *self;

/*
 * attack(attacker, body): R12 is the attacker, R13 where the value lies, R14 counts down. A body
 * ends by itself or by a signal, whose handler goes on at attack_end: there RSP is ours again.
 */
void attack(struct attacker *attacker, const char *body);
extern const char attack_end[], attack_syscall[], attack_int80[], attack_cpuid[], attack_port[],
        attack_sysenter[], attack_step[], attack_segments[], attack_iret[], attack_compat[],
        attack_compat_int80[], attack_push[];

#define LOAD  "1: mov (%r13), %rsp\n"
#define AGAIN "dec %r14\n jnz 1b\n jmp attack_end\n"
/* Leaves for 32-bit code, which lies where 32 bits reach. */
#define TO_COMPAT                                                                                  \
	"mov $20, %eax\n"                                                                          \
	"ljmpl *2f\n"                                                                              \
	".balign 8\n"                                                                              \
	"2: .long 3f\n .word 0x23\n"                                                               \
	".code32\n"                                                                                \
	"3: "

__asm__(".text\n"
        "attack:\n"
        "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "mov %rsp, (%rdi)\n"
        "mov %rdi, %r12\n"
        "lea 8(%rdi), %r13\n"
        "mov 16(%rdi), %r14\n"
        "jmp *%rsi\n"

        "attack_end:\n"
        "mov (%r12), %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
        "ret\n"

        "attack_syscall:\n" LOAD "mov $39, %eax\n syscall\n" AGAIN "attack_int80:\n" LOAD
        "mov $20, %eax\n int $0x80\n" AGAIN "attack_cpuid:\n" LOAD "xor %eax, %eax\n cpuid\n" AGAIN
        "attack_port:\n" LOAD "mov $0x3ed, %edx\n in %dx, %al\n" AGAIN "attack_push:\n" LOAD
        "push %rsp\n pop %rsp\n" AGAIN "attack_sysenter:\n" LOAD "sysenter\n" AGAIN "attack_step:\n"
        "pushfq\n orq $0x100, (%rsp)\n mov %rsp, %rax\n mov (%r13), %rdx\n popfq\n"
        "mov %rdx, %rsp\n mov $39, %eax\n syscall\n syscall\n jmp attack_end\n"
        "attack_segments:\n" LOAD "mov %r14w, %ax\n mov %eax, %es\n mov %eax, %ds\n mov %eax, %gs\n"
        "mov $39, %eax\n syscall\n mov %ss, %eax\n mov %eax, %ss\n syscall\n" AGAIN "attack_iret:\n"
        "1: mov (%r12), %rsp\n"
        "mov %ss, %eax\n push %rax\n push (%r13)\n pushfq\n mov %cs, %eax\n push %rax\n"
        "lea 2f(%rip), %rax\n push %rax\n iretq\n"
        "2: mov $39, %eax\n syscall\n" AGAIN "attack_compat:\n" LOAD TO_COMPAT "syscall\n"
        "ljmp $0x33, $attack_end\n .code64\n"
        "attack_compat_int80:\n" LOAD TO_COMPAT "int $0x80\n"
        "ljmp $0x33, $attack_end\n .code64\n");

/* The first is the one that reaches Xen in its gap. */
static const char *const bodies[] = {
        attack_syscall, attack_int80,    attack_cpuid,        attack_port,
        attack_step,    attack_sysenter, attack_segments,     attack_iret,
        attack_push,    attack_compat,   attack_compat_int80,
};
enum {
	NR_BODIES = sizeof(bodies) / sizeof(bodies[0])
};

/* Any fault of an attack ends it; any other ends us. It runs on a stack of its own. */
static void escape(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t selectors = (uint64_t)registers[REG_CSGSFS];

	(void)info;
	if (!self || !self->under_way)
		_exit(128 + number);
	registers[REG_RIP] = (greg_t)attack_end;
	registers[REG_R12] = (greg_t)self;
	registers[REG_EFL] &= ~TRAP_FLAG;
	registers[REG_CSGSFS] =
	        (greg_t)((selectors & 0x0000ffffffff0000) | (uint64_t)USER_SS << 48 | USER_CS);
}

static void catch_faults(void)
{
	static const int numbers[] = {SIGSEGV, SIGILL, SIGBUS, SIGTRAP, SIGFPE};
	struct sigaction action = {.sa_sigaction = escape, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		must(sigaction(numbers[i], &action, NULL), "sigaction");
}

static void *attack_for_ever(void *argument)
{
	long number = (long)argument;
	stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(number, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	must(sigaltstack(&stack, NULL), "sigaltstack");
	(void)ioperm(PORT, 8, 1);
	self = &attackers[number];
	self->turns = TURNS;
	for (;;) {
		uint64_t kind = hostile_draw(&self->random) % (2 * NR_BODIES);

		atomic_store(&self->target, hostile_value(&self->random, &aim));
		self->under_way = true;
		attack(self, bodies[kind < NR_BODIES ? kind : 0]);
		self->under_way = false;
	}
	return NULL;
}

static void doze(long nanoseconds)
{
	struct timespec pause = {0, nanoseconds};

	nanosleep(&pause, NULL);
}

static void *make_and_unmake(void *argument)
{
	(void)argument;
	for (;;) {
		char *area = mmap((void *)aim.area, HOSTILE_AREA_PAGES * HOSTILE_PAGE,
		                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		                  -1, 0);

		if (area == MAP_FAILED)
			must(-1, "mmap");
		memset(area, 0xff, HOSTILE_AREA_PAGES * HOSTILE_PAGE);
		mprotect(area, HOSTILE_AREA_PAGES / 2 * HOSTILE_PAGE, PROT_NONE);
		madvise(area + HOSTILE_AREA_PAGES / 2 * HOSTILE_PAGE,
		        HOSTILE_AREA_PAGES / 2 * HOSTILE_PAGE, MADV_DONTNEED);
		munmap(area, HOSTILE_AREA_PAGES * HOSTILE_PAGE);
		doze(20000);
	}
	return NULL;
}

static void change_for_ever(uint64_t random)
{
	for (;;) {
		for (int i = 0; i < nr_attackers; i++)
			atomic_store(&attackers[i].target, hostile_value(&random, &aim));
		doze(20000);
	}
}

static void start(void *(*function)(void *), long argument)
{
	pthread_t thread;

	must(-pthread_create(&thread, NULL, function, (void *)argument), "thread");
}

static void run(uint64_t seed)
{
	prctl(PR_SET_TIMERSLACK, 1);
	catch_faults();
	nr_attackers = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (nr_attackers > MAX_THREADS)
		nr_attackers = MAX_THREADS;
	start(make_and_unmake, 0);
	for (long i = 0; i < nr_attackers; i++) {
		attackers[i].random = seed + (uint64_t)i + 1;
		start(attack_for_ever, i);
	}
	change_for_ever(seed);
}

/* An attack may cost the attacker its life: the next one goes on. Who dies at once has a fault. */
int main(int argc, char **argv)
{
	struct timespec now;
	int short_lives = 0;

	for (int i = 1; i < argc && aim.nr_stacks < HOSTILE_MAX_STACKS; i++)
		aim.stacks[aim.nr_stacks++] = strtoull(argv[i], NULL, 16);
	while (short_lives < 10) {
		time_t born = time(NULL);
		pid_t child = (pid_t)must(fork(), "fork");
		int status;

		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			clock_gettime(CLOCK_MONOTONIC, &now);
			run((uint64_t)now.tv_nsec * 2 + 1);
		}
		must(waitpid(child, &status, 0), "waitpid");
		short_lives = time(NULL) - born < 2 ? short_lives + 1 : 0;
		fprintf(stderr, "attacker ended with status 0x%x\n", status);
	}
	return 1;
}

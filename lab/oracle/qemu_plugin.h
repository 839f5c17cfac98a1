/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few functions of QEMU's interface for TCG plugins that the lab's plugins use, version 1 of
 * it, as "QEMU TCG Plugins" in QEMU's developer documentation describes them. Debian packages no
 * header.
 */
#ifndef LAB_ORACLE_QEMU_PLUGIN_H
#define LAB_ORACLE_QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_VERSION 1

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct qemu_info_t qemu_info_t;

enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS, /* the callback touches no registers of the guest */
};

enum qemu_plugin_mem_rw {
	QEMU_PLUGIN_MEM_RW = 3,
};

typedef void (*qemu_plugin_translate_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*qemu_plugin_execute_t)(unsigned int cpu, void *data);
typedef void (*qemu_plugin_access_t)(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address,
                                     void *data);
typedef void (*qemu_plugin_exit_t)(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_translate_t callback);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
                                          qemu_plugin_execute_t callback,
                                          enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            qemu_plugin_execute_t callback,
                                            enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_plugin_access_t callback,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info); /* log2 of the bytes */
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_exit_t callback, void *data);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* What the flame graph of a comparison has in other words and colours than that of a profile. */
#ifndef XF_OUTPUT_CHANGES_H
#define XF_OUTPUT_CHANGES_H

#include <stdio.h>

#include "output/comparison.h"

/* more1 to more4 and less1 to less4 by how much more or less it is worth in B; even where that may
 * be chance. */
void xf_changes_write_class(FILE *out, const struct xf_comparison *comparison,
                            struct xf_node_id node);

/* "A 12.34%, B 14.00%, +1.66" */
void xf_changes_write_tip(FILE *out, const struct xf_comparison *comparison,
                          struct xf_node_id node);

/* The lines below the title, and the legend, from @x on. */
void xf_changes_write_facts(FILE *out, const struct xf_comparison *comparison);
void xf_changes_write_legend(FILE *out, uint32_t x);

#endif

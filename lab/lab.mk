# SPDX-License-Identifier: GPL-2.0-or-later

demo:
	$(Q)lab/demo

# SPDX-License-Identifier: GPL-2.0-or-later
#
# Packages. debian/ describes Debian's; it is built in a copy of the sources, since dpkg-buildpackage
# leaves its results beside the directory that it works in.

DEB := build/deb
deb_sources := $(DEB)/xenflame-$(VERSION)

.PHONY: deb
deb:
	$(Q)rm -rf $(DEB) && mkdir -p $(deb_sources)
	$(Q)packaging/sources | tar --null -T - -cf - | tar -xf - -C $(deb_sources)
	$(say) DEB $(DEB)
	$(Q)cd $(deb_sources) && unset MAKEFLAGS MFLAGS MAKELEVEL && \
		dpkg-buildpackage -us -uc -b >../log 2>&1 || { tail -20 ../log; exit 1; }
	$(Q)rm -rf $(deb_sources)

# For hosts whose libraries are older, or not there: XenServer's and XCP-ng's dom0. The objects are the
# same; of the libraries Debian has all but Zydis as static ones too.
STATIC_LIBS := $(B)/static/libZydis.a -lxencall -lxenforeignmemory -lxenevtchn -lxenstore -lxentoolcore -lxentoollog \
	-lncursesw -ltinfo -ldw -lelf -lzstd -llzma -lbz2 -lz -lm

.PHONY: static
static: $(B)/static/xenflame

$(B)/static/libZydis.a: packaging/zydis
	$(say) ZYDIS $@
	$(Q)packaging/zydis $@

$(B)/static/xenflame: $(host_objects) $(pure_objects) $(B)/static/libZydis.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static -o $@ $(host_objects) $(pure_objects) $(STATIC_LIBS)

//! Positioned reads and writes of a file, which several threads may do at the same time.

use std::fs::File;
use std::io;

#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// The `num_bytes` bytes at `offset`, read into memory that is not zeroed first.
#[cfg(unix)]
pub(crate) fn read_vec_at(file: &File, num_bytes: usize, offset: u64) -> io::Result<Vec<u8>> {
    use rustix::io::Errno;
    let mut bytes = Vec::with_capacity(num_bytes);
    while bytes.len() < num_bytes {
        let at = offset + bytes.len() as u64;
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The capacity may exceed `num_bytes`, and then `pread` may return more bytes than requested.
    bytes.truncate(num_bytes);
    Ok(bytes)
}

#[cfg(unix)]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let num_bytes = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if num_bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[num_bytes..];
        offset += num_bytes as u64;
    }
    Ok(())
}

#[cfg(windows)]
pub(crate) fn read_vec_at(file: &File, num_bytes: usize, offset: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; num_bytes];
    read_exact_at(file, &mut bytes, offset)?;
    Ok(bytes)
}

#[cfg(windows)]
pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let num_bytes = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        bytes = &bytes[num_bytes..];
        offset += num_bytes as u64;
    }
    Ok(())
}

!printf 'through%s shell' ':'
